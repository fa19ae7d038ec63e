package mailbox

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	nth := func(n int) journal.Origin { return journal.Origin{byte(n), byte(n >> 8), 1} }
	for n := range maxRecent + 10 {
		r.add(nth(n))
		r.add(nth(n))
	}
	for n := range maxRecent + 10 {
		require.Equal(t, n >= 10, r.has(nth(n)), n)
	}
	require.Len(t, r.known, maxRecent)
}
