package view_test

import "testing"

func TestMove(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/move")
}
