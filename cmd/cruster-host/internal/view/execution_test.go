package view_test

import "testing"

func TestExecutions(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/execution")
}
