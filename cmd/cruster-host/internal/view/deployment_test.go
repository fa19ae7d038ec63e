package view_test

import "testing"

func TestDeployments(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/deployment")
}
