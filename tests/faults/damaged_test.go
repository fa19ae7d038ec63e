package faults

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	sqlitedriver "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

// database is a store that can be damaged while it is closed.
type database struct {
	open   func() (journal.Store, error)
	damage func(id journal.ID, from uint64) error // makes the entries of an execution unreadable from one on
}

func databases(t *testing.T) map[string]database {
	dir, dsn, schema := t.TempDir(), pgtest.DSN(t), pgtest.Schema(t)
	return map[string]database{
		"sqlite": {
			func() (journal.Store, error) { return sqlite.Open(t.Context(), sqlite.Config{Dir: dir}) },
			func(id journal.ID, from uint64) error {
				conn, err := sqlitedriver.OpenConn(filepath.Join(dir, sqlite.FileName))
				if err != nil {
					return err
				}
				defer conn.Close()
				const damage = "UPDATE cruster_entries SET body = x'c1' WHERE run = (SELECT run FROM " +
					"cruster_executions WHERE id = ?) AND last >= ?"
				return sqlitex.Execute(conn, damage, &sqlitex.ExecOptions{Args: []any{id[:], int64(from)}})
			},
		},
		"postgres": {
			func() (journal.Store, error) {
				return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
			},
			func(id journal.ID, from uint64) error {
				conn, err := pgx.Connect(t.Context(), dsn)
				if err != nil {
					return err
				}
				defer func() { _ = conn.Close(t.Context()) }()
				_, err = conn.Exec(t.Context(),
					`UPDATE `+pgx.Identifier{schema, "entries"}.Sanitize()+`
					SET body = '\xc1' WHERE run = (SELECT run FROM `+pgx.Identifier{schema, "executions"}.Sanitize()+
						` WHERE id = $1) AND last >= $2`,
					id[:],
					int64(from),
				)
				return err
			},
		},
	}
}

// TestDamagedEntriesPauseOneExecution makes the entries of one of two executions unreadable. It is paused with the
// reason when the host needs them, and stays so; the other goes on.
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
					row, err := e.Observer().Poll(t.Context(), "", name)
					require.NoError(t, err)
					waiting = waiting && row.WakeAt != journal.Now
					damaged = row.ID
				}
				return waiting
			})
			require.NoError(t, e.Stop(t.Context()))
			require.NoError(t, store.Close())
			require.NoError(t, db.damage(damaged, 0))

			approve := func(name string) error {
				value := abi.MustMarshal(object{"approved": true, "by": "ada"})
				return e.Executions().Settle(t.Context(), "", name, journal.Deferred{Name: "approved", Value: value})
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

// TestDamagedEntriesLeaveTheRest damages the third entry of one of three open executions. That one is judged as not
// fitting and is not moved, and the two others are; its readable part is shown, and can be forked.
func TestDamagedEntriesLeaveTheRest(t *testing.T) {
	t.Parallel()
	for name, db := range databases(t) {
		t.Run(name, func(t *testing.T) {
			store, err := db.open()
			require.NoError(t, err)
			e := engine(t, store)
			harness.Push(t, e, "change", "tests/guests/change/base")
			orders := []string{"one", "damaged", "three"}
			for _, order := range orders {
				harness.Pending(t, e, harness.Start(t, e, "change/Order", order), abi.OpDeferred, "gate")
			}
			damaged, err := e.Observer().Poll(t.Context(), "", "change/Order/damaged")
			require.NoError(t, err)
			require.NoError(t, e.Stop(t.Context()))
			require.NoError(t, store.Close())
			require.NoError(t, db.damage(damaged.ID, 3))

			store, err = db.open()
			require.NoError(t, err)
			defer store.Close()
			e = engine(t, store)
			defer func() { require.NoError(t, e.Stop(t.Context())) }()
			for range 2 { // as it is found, and once it is paused
				leavesTheRest(t, e, damaged)
			}
			harness.Push(t, e, "change", "tests/guests/change/buggy")
			for _, order := range orders {
				_, err := e.Executions().Move(t.Context(), "", "change/Order/"+order, host.Latest)
				if order == "damaged" {
					require.Equal(t, abi.CodeHostFault, abi.CodeOf(err))
					require.ErrorContains(t, err, "entry 3,")
					continue
				}
				require.NoError(t, err)
			}
			fork, err := e.Launcher().Fork(t.Context(), "", damaged.Name(), host.ForkRequest{At: 2, Key: "fork"})
			require.NoError(t, err)
			require.NoError(
				t,
				e.Executions().Settle(t.Context(), "", fork.Name(), journal.Deferred{
					Name: "gate", Value: abi.MustMarshal(true),
				}),
			)
			require.Equal(t, journal.Completed, harness.Wait(t, e, fork.Name()).State)
			_, err = e.Launcher().Fork(t.Context(), "", damaged.Name(), host.ForkRequest{At: 3, Key: "behind"})
			require.Equal(t, abi.CodeHostFault, abi.CodeOf(err))
		})
	}
}

// leavesTheRest looks at a damaged execution, and at the others.
func leavesTheRest(t *testing.T, e *host.Engine, damaged *journal.Execution) {
	t.Helper()
	reasons := map[string]string{}
	check := host.CheckRequest{Name: "change", Binary: harness.Module(t, "tests/guests/change/buggy")}
	require.NoError(t, e.Deployments().Check(t.Context(), check, func(r host.CheckResult, _, _ int) error {
		require.Equal(t, r.Reason == "", r.Fits)
		reasons[r.Execution.Key] = r.Reason
		return nil
	}))
	require.Len(t, reasons, 3)
	require.Empty(t, reasons["one"]+reasons["three"])
	require.Contains(t, reasons["damaged"], "its journal cannot be read: entry 3 does not decode")

	d, err := e.Observer().Describe(t.Context(), "", damaged.Name())
	require.NoError(t, err)
	require.Equal(t, 2, d.Entries)
	require.Equal(t, abi.CodeHostFault, d.Error.Code)
	var bundle struct {
		Delivered uint64 `msgpack:"delivered"`
		Digest    string `msgpack:"digest"`
		Entry     uint64 `msgpack:"entry"`
	}
	require.NoError(t, abi.Unmarshal(d.Error.Details, &bundle))
	require.Equal(t, damaged.Digest, bundle.Digest)
	require.EqualValues(t, 1, bundle.Delivered, "the turn of the second may go on in the third")
	require.EqualValues(t, 3, bundle.Entry)

	entries, more, err := e.Observer().History(t.Context(), "", damaged.Name(), 0, 10)
	require.NoError(t, err)
	require.True(t, more)
	require.Len(t, entries, 2)
	_, _, err = e.Observer().History(t.Context(), "", damaged.Name(), 2, 10)
	require.Equal(t, abi.CodeHostFault, abi.CodeOf(err))
	require.ErrorContains(t, err, "entry 3,")

	require.Equal(t, journal.Paused, harness.Wait(t, e, damaged.Name()).State)
}
