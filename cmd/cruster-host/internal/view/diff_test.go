package view_test

import "testing"

func TestDiff(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/diff")
}
