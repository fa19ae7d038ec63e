package guest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMayWrite(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]bool{
		"SELECT 1": false, "\n\t( select\n1)": false, "VALUES (1)": false,
		"-- name: Get :one\nSELECT 1": false, "/* a */ -- b\n /* c */select 1": false,
		"INSERT INTO t VALUES (1)": true, "WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a": true,
		"-- SELECT": true, "/* SELECT 1": true, "": true, "SELECTED": true, "-- SELECT\nDELETE FROM t": true,
	} {
		require.Equal(t, want, MayWrite(query), query)
	}
}
