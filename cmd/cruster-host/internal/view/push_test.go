package view_test

import "testing"

func TestPush(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/push")
}
