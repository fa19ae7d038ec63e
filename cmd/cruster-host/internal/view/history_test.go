package view_test

import "testing"

func TestHistories(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/history")
}
