package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// ownedTx is a transaction of the owner of shards that is no batch of the journal. It implements sqlsweep.Tx.
type ownedTx struct {
	pgx.Tx
	sql *statements
	own journal.Owned
}

// Owned implements sqlsweep.Store. Until the transaction ends no claim gets through: fences that it
// checks hold for as long. The lock and the check are two statements, for the reason that Commit
// gives.
func (s swept) Owned(ctx context.Context, own journal.Owned, use func(context.Context, sqlsweep.Tx) error) error {
	if err := own.Check(); err != nil {
		return err
	}
	store := s.store
	err := store.use(ctx, store.main, store.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, stmtLock); err != nil {
				return err
			}
			return use(ctx, &ownedTx{tx, &store.sql, own})
		})
	})
	if sqlState(err) == stateFenced {
		return journal.ErrFenced
	}
	return err
}

// Check implements sqlsweep.Tx.
func (tx *ownedTx) Check(ctx context.Context, shards ...journal.Shard) error {
	shards = slices.Clone(shards)
	slices.Sort(shards)
	var rows fenceRows
	for _, shard := range slices.Compact(shards) {
		rows.add(shard, tx.own[shard])
	}
	if len(rows.shards) == 0 {
		return nil
	}
	b := &pgx.Batch{}
	rows.queue(b)
	return tx.SendBatch(ctx, b).Close()
}

// shards returns the owner's shards, from one on.
func (tx *ownedTx) shards(first journal.Shard) []int16 { return shardColumn(tx.own.From(first)) }

func shardColumn(shards []journal.Shard) []int16 {
	column := make([]int16, len(shards))
	for i, shard := range shards {
		column[i] = int16(shard)
	}
	return column
}
