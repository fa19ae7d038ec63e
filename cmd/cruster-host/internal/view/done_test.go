package view_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func TestDone(t *testing.T) {
	t.Parallel()
	for want, done := range map[string]view.Done{
		"did it: a/B/c\n":   {Done: "x", Execution: "a/B/c"},
		"did it: a/B/c d\n": {Deferred: "d", Done: "x", Execution: "a/B/c"},
		"did it: a/B/ c\n":  {Done: "x", Execution: "a/B/\nc"},
	} {
		var out strings.Builder
		require.NoError(t, view.WriteDone(&out, done, "did it"))
		require.Equal(t, want, out.String())
	}
}
