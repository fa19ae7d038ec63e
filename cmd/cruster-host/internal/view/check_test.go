package view_test

import "testing"

func TestCheck(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/check")
}
