package journal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestPageCursor(t *testing.T) {
	t.Parallel()
	for _, at := range []int64{math.MinInt64, -1, 0, 1, math.MaxInt64} {
		rows := make([]journal.Execution, 3)
		rows[1].CreatedAt, rows[1].ID = at, journal.IDOf("n", "w", "k")
		page := journal.PageOf(rows, 2)
		require.Len(t, page.Executions, 2)
		f := journal.Filter{After: page.Next}
		limit, after, err := f.Bounds()
		require.NoError(t, err)
		require.Equal(t, 100, limit)
		require.Equal(t, journal.Wake{ID: rows[1].ID, At: at}, after)
	}
	require.Empty(t, journal.PageOf(make([]journal.Execution, 2), 2).Next)
}

func FuzzPageCursor(f *testing.F) {
	f.Add("1.000102030405060708090a0b0c0d0e0f", 10)
	f.Add("-1.", -5)
	f.Fuzz(func(t *testing.T, cursor string, limit int) {
		filter := journal.Filter{After: cursor, Limit: limit}
		got, _, err := filter.Bounds()
		if err != nil {
			require.Equal(t, abi.CodeBadRequest, abi.CodeOf(err))
			return
		}
		require.True(t, got >= 1 && got <= 1000)
	})
}
