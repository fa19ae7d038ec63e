package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/guest-sdk/go/crustertest"
	"github.com/cruster/cruster/internal/sqltest"
)

// TestImport: two of fifty children fail; the others are there.
func TestImport(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	req := ImportRequest{Batch: "b"}
	for i := range 48 {
		req.Files = append(req.Files, fmt.Sprintf("file-%02d", i))
	}
	req.Files = append(req.Files, "broken-1", "broken-2")
	var h crustertest.History
	got, err := crustertest.Run(t, Import, req, crustertest.SQLite(db), crustertest.Record(&h))
	require.NoError(t, err)
	require.Equal(
		t,
		ImportResult{
			Rows:   144,
			Failed: map[string]string{"broken-1": "broken-1 cannot be read", "broken-2": "broken-2 cannot be read"},
		},
		got,
	)
	require.Equal(t, []string{"144"}, sqltest.List(t, db, `SELECT count(*) FROM import_rows`))
	crustertest.Replay(t, &h)
}
