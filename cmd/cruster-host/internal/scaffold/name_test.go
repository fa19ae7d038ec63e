package scaffold

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// isMistake reports whether the command line is to blame for an error.
func isMistake(err error) bool {
	var mistake *usage.Error
	return errors.As(err, &mistake)
}

func TestProjectNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "orders", "order-7", strings.Repeat("a", maxName)} {
		require.NoError(t, checkName(name), name)
	}
	for _, name := range []string{
		"", "Orders", "7up", "-a", "a-", "a--b", "a_b", "a/b", "..", "a b", "ä", "a\n", "async", "std", "cruster",
		strings.Repeat("a", maxName+1),
	} {
		require.True(t, isMistake(checkName(name)), "%q", name)
	}
}
