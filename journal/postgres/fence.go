package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// fenced runs a transaction of the owner of all shards that is no batch of the
// journal. The lock and the check are two statements, for the reason that Commit
// gives; until the transaction is over no claim gets through.
func (s *Store) fenced(ctx context.Context, pool *pgxpool.Pool, own []journal.Fence, call func(ctx context.Context, tx pgx.Tx) error) error {
	if len(own) != journal.NumShards {
		return fmt.Errorf("%w: the owner names %d fences, not %d", journal.ErrFenced, len(own), journal.NumShards)
	}
	var rows fenceRows
	for shard, f := range own {
		rows.add(journal.Shard(shard), f)
	}
	err := s.use(ctx, pool, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			b := &pgx.Batch{}
			b.Queue(stmtLock)
			rows.queue(b)
			if err := tx.SendBatch(ctx, b).Close(); err != nil {
				return err
			}
			return call(ctx, tx)
		})
	})
	return fencedError(err)
}

// fencedError gives a fence that did not hold its name.
func fencedError(err error) error {
	if sqlState(err) == stateFenced {
		return journal.ErrFenced
	}
	return err
}
