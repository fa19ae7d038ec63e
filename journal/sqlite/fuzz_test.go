package sqlite_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// FuzzGuestStatement runs whatever it is given as a module's statement and commits. Nothing of another namespace may
// come out or change, and the journal must go on.
func FuzzGuestStatement(f *testing.F) {
	for _, query := range hostileStatements {
		f.Add(query, "x", int64(1))
	}
	f.Add("SELECT id, owner FROM accounts WHERE owner = $1 AND id >= $2", "ada", int64(0))
	f.Add("INSERT OR REPLACE INTO accounts (id, owner) VALUES ($2, $1) RETURNING *", "bob", int64(2))
	f.Add("WITH RECURSIVE n (i) AS (SELECT $2 UNION ALL SELECT i + 1 FROM n LIMIT 5) SELECT i, ?1 FROM n", "", int64(7))
	b := newGuestBundle(f, sqlite.Config{})
	var runs atomic.Int64
	f.Fuzz(func(t *testing.T, query, text string, number int64) {
		w := b.start(t, fmt.Sprint(runs.Add(1)))
		w.Entries = []journal.Entry{{Seq: 1, Kind: journal.Delivery}}
		tx := b.begin(t)
		columns, rows, err := tx.Query(b.ctx, query, []any{text, number})
		if err == nil {
			for _, row := range rows {
				require.Len(t, row, len(columns))
				for _, value := range row {
					leaked, _ := value.(string)
					require.False(t, strings.Contains(leaked, "hush") && !strings.Contains(query+text, "hush"))
				}
			}
		}
		committed := tx.Commit(b.ctx, w) == nil
		entries, _, err := b.store.Entries(b.ctx, journal.KeyOf(w.ID, w.Run), 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Equal(t, committed, len(entries) == 1)

		theirs, err := b.store.BeginGuest(b.ctx, "theirs")
		require.NoError(t, err)
		_, rows, err = theirs.Query(b.ctx, "SELECT id, text FROM secrets", nil)
		require.NoError(t, err)
		require.Equal(t, [][]any{{int64(1), "hush"}}, rows)
		w.Entries[0].Seq = 2
		require.NoError(t, theirs.Commit(b.ctx, w), "the fences are what they were")
	})
}

// FuzzNamespacesAreAlike runs whatever it is given in two namespaces that have the same tables. A statement that works
// in both means the same in both, and neither changes anything of the other.
func FuzzNamespacesAreAlike(f *testing.F) {
	f.Add("JOIN IN items")
	for _, query := range append(shopStatements, hostileStatements...) {
		f.Add(query)
	}
	b := newShops(f)
	before := b.contents(f, plain)
	f.Fuzz(func(t *testing.T, query string) {
		for _, word := range []string{"random", "current", "date", "time", "now", "changes", "rowid", "@"} {
			if strings.Contains(strings.ToLower(query), word) {
				return // not the same twice, or a stored name
			}
		}
		inPlain, inNamed := b.try(t, plain, query, false), b.try(t, named, query, false)
		if !strings.HasPrefix(inPlain, "CR-") && !strings.HasPrefix(inNamed, "CR-") {
			require.Equal(t, inPlain, inNamed)
		}
		if strings.HasPrefix(inPlain, "CR-") {
			require.Regexp(t, "^CR-", inNamed, "it works where nothing is renamed: %s", inPlain)
		}
		require.Equal(t, before, b.contents(t, plain))
		require.Equal(t, before, b.contents(t, named))
	})
}
