package faults

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	sqlitedriver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// database is a store that can be damaged while it is closed.
type database struct {
	open   func() (journal.Store, error)
	damage func(id journal.ID) error // makes the entries of an execution unreadable
}

func databases(t *testing.T) map[string]database {
	dir, dsn, schema := t.TempDir(), pgtest.DSN(t), pgtest.Schema(t)
	return map[string]database{
		"sqlite": {
			func() (journal.Store, error) { return sqlite.Open(t.Context(), sqlite.Config{Dir: dir}) },
			func(id journal.ID) error {
				conn, err := sqlitedriver.OpenConn(filepath.Join(dir, sqlite.FileName))
				if err != nil {
					return err
				}
				defer conn.Close()
				return sqlitex.Execute(conn, "UPDATE cruster_entries SET body = x'c1' WHERE id = ?", &sqlitex.ExecOptions{Args: []any{id[:]}})
			},
		},
		"postgres": {
			func() (journal.Store, error) {
				return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
			},
			func(id journal.ID) error {
				conn, err := pgx.Connect(t.Context(), dsn)
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close(t.Context()) }()
				_, err = conn.Exec(t.Context(), `UPDATE `+pgx.Identifier{schema, "entries"}.Sanitize()+` SET entry = '\xc1' WHERE id = $1`, id[:])
				return err
			},
		},
	}
}

// TestDamagedEntriesPauseOneExecution makes the entries of one of two executions
// unreadable. It is paused with the reason when the host needs them, and stays so; the
// other goes on.
func TestDamagedEntriesPauseOneExecution(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			store, err := db.open()
			require.NoError(t, err)
			e := engine(t, store)
			harness.Push(t, e, "approval", "modules/examples/approval")
			var names []string
			for _, document := range []string{"damaged", "sound"} {
				names = append(names, harness.Start(t, e, "approval/RequestApproval", object{"document": document}))
			}
			var damaged journal.ID
			harness.Eventually(t, "both wait", func() bool {
				waiting := true
				for _, name := range []string{names[1], names[0]} {
					row, err := e.Poll(t.Context(), "", name)
					require.NoError(t, err)
					waiting = waiting && row.WakeAt != journal.Now
					damaged = row.ID
				}
				return waiting
			})
			require.NoError(t, e.Stop(t.Context()))
			require.NoError(t, store.Close())
			require.NoError(t, db.damage(damaged))

			approve := func(name string) error {
				value := abi.MustMarshal(object{"approved": true, "by": "ada"})
				return e.Settle(t.Context(), "", name, journal.Deferred{Name: "approved", Value: value})
			}
			for range 2 {
				store, err = db.open()
				require.NoError(t, err)
				e = engine(t, store)
				_ = approve(names[0]) // it is not paused before the host looks at it
				row := harness.Wait(t, e, names[0])
				require.Equal(t, journal.Paused, row.State)
				require.Equal(t, abi.CodeHostFault, row.Error.Code)
				var bundle struct {
					Entry uint64 `msgpack:"entry"`
					Bytes string `msgpack:"bytes"`
					Build string `msgpack:"build"`
				}
				require.NoError(t, abi.Unmarshal(row.Error.Details, &bundle))
				require.NotZero(t, bundle.Entry, "which entry it is")
				require.NotEmpty(t, bundle.Bytes)
				require.NotEmpty(t, bundle.Build)
				require.NoError(t, e.Stop(t.Context()))
				require.NoError(t, store.Close())
			}
			store, err = db.open()
			require.NoError(t, err)
			defer store.Close()
			e = engine(t, store)
			require.NoError(t, approve(names[1]))
			require.Equal(t, journal.Completed, harness.Wait(t, e, names[1]).State)
			require.NoError(t, e.Stop(t.Context()))
		})
	}
}
