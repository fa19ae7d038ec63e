package table

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExceptions checks the list of cases that a test kit cannot run: each has a reason, and each is still in the
// table. The kits run nearly all of it.
func TestExceptions(t *testing.T) {
	t.Parallel()
	all := Load()
	for _, e := range loadExceptions() {
		require.NotEmpty(t, e.Why)
		require.Subset(t, []string{"go", "rust"}, e.Kits)
		for _, name := range e.Cases {
			require.True(
				t, slices.ContainsFunc(all, func(c Case) bool { return c.Name == name }), "there is no case %q", name,
			)
		}
	}
	for _, language := range []string{"go", "rust"} {
		require.GreaterOrEqual(t, len(ForKit(language)), 200, language)
	}
}
