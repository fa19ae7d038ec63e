package storetest

import (
	"context"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// deployGuest makes the table that the transactions of guests work on. The oracle runs no SQL: the
// model keeps the expected rows.
func (m *model) deployGuest(rt *rapid.T) {
	steps := []abi.Migration{{
		Version: 1,
		SQL:     `CREATE TABLE model_accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL CHECK (balance >= 0))`,
	}}
	module := newModule("sha256:guest")
	d := newDeployment("default", "guest", module.Digest)
	same(rt, "deploy", func(s journal.Store) (journal.Deployment, error) {
		return s.Deploy(m.ctx, m.fencesOf(s)[d.Shard()], module, d, steps)
	}, m.store, m.oracle)
	m.balances = map[int64]int64{}
}

// guest runs statements in a transaction, a few refused by the database, and commits it together
// with a write, or rolls it back. The statements must take effect if and only if the write does.
func (m *model) guest(rt *rapid.T) {
	tx, err := m.store.BeginGuest(m.ctx, "default")
	require.NoError(rt, err)
	defer func() { require.NoError(rt, tx.Rollback(context.Background())) }()
	after := maps.Clone(m.balances)
	for range rapid.IntRange(0, 4).Draw(rt, "statements") {
		m.statement(rt, tx, after)
	}
	m.compareTable(rt, tx, after)
	if rapid.IntRange(0, 3).Draw(rt, "rolled back") > 0 {
		w := m.drawWrite(rt)
		w.Start, w.Link = nil, nil       // as an activity writes
		w.Chain = m.chainOf(w.ID, w.Run) // a Start has a chain of its own
		m.drawMail(rt, &w)
		w.Receive = nil
		got := tx.Commit(m.ctx, w)
		want, err := m.oracle.Commit(m.ctx, m.forOracle([]journal.Write{w}))
		require.NoError(rt, err)
		require.Equal(rt, sortOf(want[0].Err), sortOf(got), "%v", got)
		if got == nil {
			m.balances = after
		}
		m.compareExecution(rt, w.ID)
		m.compareMail(rt)
	}
	require.NoError(rt, tx.Rollback(m.ctx))

	look, err := m.store.BeginGuest(m.ctx, "default")
	require.NoError(rt, err)
	m.compareTable(rt, look, m.balances)
	require.NoError(rt, look.Rollback(m.ctx))
}

// statement changes one account, in the database and in the model.
func (m *model) statement(rt *rapid.T, tx journal.GuestTx, accounts map[int64]int64) {
	id, amount := rapid.Int64Range(1, 4).Draw(rt, "id"), rapid.Int64Range(-5, 9).Draw(rt, "amount")
	balance, exists := accounts[id]
	var refused bool
	var n int64
	var err error
	switch rapid.IntRange(0, 2).Draw(rt, "statement") {
	case 0:
		n, err = tx.Exec(m.ctx, `INSERT INTO model_accounts (id, balance) VALUES ($1, $2)`, []any{id, amount})
		if refused = exists || amount < 0; !refused {
			exists, accounts[id] = true, amount
		}
	case 1:
		n, err = tx.Exec(m.ctx, `UPDATE model_accounts SET balance = balance + $2 WHERE id = $1`, []any{id, amount})
		if refused = exists && balance+amount < 0; exists && !refused {
			accounts[id] = balance + amount
		}
	case 2:
		n, err = tx.Exec(m.ctx, `DELETE FROM model_accounts WHERE id = $1`, []any{id})
		delete(accounts, id)
	}
	if refused {
		require.Equal(rt, abi.CodeSQL, abi.CodeOf(err), "%v", err)
		return
	}
	require.NoError(rt, err)
	require.Equal(rt, map[bool]int64{true: 1, false: 0}[exists], n)
}

func (m *model) compareTable(rt *rapid.T, tx journal.GuestTx, accounts map[int64]int64) {
	_, rows, err := tx.Query(m.ctx, `SELECT id, balance FROM model_accounts ORDER BY id`, nil)
	require.NoError(rt, err)
	want := [][]any{}
	for _, id := range slices.Sorted(maps.Keys(accounts)) {
		want = append(want, []any{id, accounts[id]})
	}
	require.ElementsMatch(rt, want, rows)
}
