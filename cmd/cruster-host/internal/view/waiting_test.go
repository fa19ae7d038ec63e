package view_test

import "testing"

func TestWaits(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/waits")
}
