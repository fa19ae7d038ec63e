package sqlite_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// guestBundle is a store in which three namespaces have a table each: the default one's is stored
// under its plain name.
type guestBundle struct {
	ctx    context.Context
	dir    string
	store  *sqlite.Store
	fences []journal.Fence
}

func newGuestBundle(t testing.TB, config sqlite.Config) *guestBundle {
	if config.Dir == "" {
		config.Dir = t.TempDir()
	}
	if config.GuestTxLimit == 0 {
		config.GuestTxLimit = time.Hour
	}
	if config.MigrationLimit == 0 {
		config.MigrationLimit = time.Hour // a test of something else does not depend on the machine's speed
	}
	b := &guestBundle{ctx: t.Context(), dir: config.Dir, store: open(t, config)}
	var err error
	b.fences, err = b.store.ClaimShards(b.ctx, "test")
	require.NoError(t, err)
	require.NoError(t, b.deploy("mine", `
		CREATE TABLE accounts (id INTEGER PRIMARY KEY, owner TEXT UNIQUE, balance INTEGER DEFAULT 0);
		INSERT INTO accounts (id, owner) VALUES (1, 'ada')`))
	require.NoError(
		t,
		b.deploy(
			"theirs",
			"CREATE TABLE secrets (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO secrets VALUES (1, 'hush')",
		),
	)
	require.NoError(
		t,
		b.deploy(
			journal.DefaultNamespace,
			"CREATE TABLE vault (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO vault VALUES (1, 'hush')",
		),
	)
	return b
}

func (b *guestBundle) deploy(namespace string, sql ...string) error {
	var steps []abi.Migration
	for i, text := range sql {
		steps = append(steps, abi.Migration{Version: int64(i + 1), Name: "step", SQL: text})
	}
	m := journal.Module{Digest: "sha256:1", Binary: []byte("\x00asm")}
	d := journal.Deployment{
		Namespace: namespace,
		Name:      "d" + journal.IDOf(namespace, strings.Join(sql, ";"), "").String(),
		Digest:    m.Digest,
	}
	_, err := b.store.Deploy(b.ctx, b.fences[d.Shard()], m, d, steps)
	return err
}

// requireTheirs requires that the tables of others are unchanged.
func (b *guestBundle) requireTheirs(t testing.TB) {
	t.Helper()
	for namespace, table := range map[string]string{"theirs": "secrets", journal.DefaultNamespace: "vault"} {
		tx, err := b.store.BeginGuest(b.ctx, namespace)
		require.NoError(t, err)
		_, rows, err := tx.Query(b.ctx, "SELECT id, text FROM "+table, nil)
		require.NoError(t, err)
		require.Equal(t, [][]any{{int64(1), "hush"}}, rows)
		require.NoError(t, tx.Rollback(b.ctx))
	}
}

// ofOthers are a statement about secrets, and the same about a table that is stored as it is called.
func ofOthers(sql string) []string {
	return slices.Compact([]string{
		sql, strings.ReplaceAll(sql, "secrets", "vault"), strings.ReplaceAll(sql, "secrets", `"secrets@theirs"`),
	})
}

func (b *guestBundle) begin(t testing.TB) journal.GuestTx {
	tx, err := b.store.BeginGuest(b.ctx, "mine")
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// startOf is a write that starts an execution.
func (b *guestBundle) startOf(key string) journal.Write {
	id := journal.IDOf("mine", "w/W", key)
	return journal.Write{
		ID: id, Run: journal.RunID(id), Fence: b.fences[id.Shard()],
		Start: &journal.Execution{
			ID: id, Run: journal.RunID(id), Namespace: "mine", Workflow: "w/W", Key: key, State: journal.Running,
		},
	}
}

func (b *guestBundle) start(t testing.TB, key string) journal.Write {
	w := b.startOf(key)
	results, err := b.store.Commit(b.ctx, []journal.Write{w})
	require.NoError(t, err)
	require.NoError(t, results[0].Err)
	w.Start = nil
	return w
}

// startAgain commits the start of an execution that may be there already.
func (b *guestBundle) startAgain(key string) error {
	results, err := b.store.Commit(b.ctx, []journal.Write{b.startOf(key)})
	if err != nil {
		return err
	}
	return results[0].Err
}

// startInside is a start for the transaction itself to commit: while it is open no other can.
func (b *guestBundle) startInside(t testing.TB) journal.Write { return b.startOf(t.Name()) }

const endless = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
