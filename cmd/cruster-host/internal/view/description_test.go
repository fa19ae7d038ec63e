package view_test

import "testing"

func TestDescriptions(t *testing.T) {
	t.Parallel()
	runViews(t, "testdata/description")
}
