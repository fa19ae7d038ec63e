package postgres

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
	"github.com/cruster/cruster/journal/sqlsweep"
	"github.com/cruster/cruster/migrations"
)

// Store is a journal.Store in Postgres.
type Store struct {
	*reader
	*sqlsweep.Sweeper

	config Config
	sql    statements
	pools
	params  paramCache
	open    openGuests
	inDoubt inDoubt

	deploying chan struct{} // capacity 1: held by the deployment under way

	refusals  refusalCache
	committed atomic.Uint64
	decided   atomic.Uint64 // batches whose writes were decided one by one

	mu      sync.Mutex
	ready   map[string]bool // namespaces that have their schema and role; guarded by mu
	claimed []journal.Fence // of the latest claim, nil before the first; guarded by mu
}

var _ journal.Store = (*Store)(nil)

// Open connects, brings the schema up to date and checks that the database user has the privileges that Cruster needs.
// Several hosts may open at the same time.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "the connection string of the Postgres store is not valid: %v", err)
	}
	bound(base.ConnConfig, c.CallLimit)
	if err := migrate(ctx, base.ConnConfig, &c, migrations.Postgres); err != nil {
		return nil, err
	}
	s := &Store{
		config:    c,
		sql:       newStatements(c.Schema),
		deploying: make(chan struct{}, 1),
		ready:     map[string]bool{},
		refusals:  refusalCache{clock: c.Clock},
	}
	s.Sweeper = sqlsweep.New(swept{s}, sweepFailed)
	s.reader = sqlread.New(database{s}, s.sql.reads)
	if err := s.openPools(ctx, base); err != nil {
		return nil, err
	}
	return s, nil
}

// Dialect implements journal.Store.
func (s *Store) Dialect() string { return abi.DialectPostgres }

// GuestsAlone implements journal.Store.
func (s *Store) GuestsAlone() bool { return false }

// Commits counts the transactions that this store committed to the journal: batches and transactions of activities.
func (s *Store) Commits() uint64 { return s.committed.Load() }

// Ping implements journal.Store: it commits something, under the lock that every commit takes and on one of its
// connections. A database that answers and does not commit is noticed, whatever the reason: it is a standby, read-only,
// full, or stuck. An idle host commits nothing else: here it learns that another has taken over.
func (s *Store) Ping(ctx context.Context) error {
	s.mu.Lock()
	claimed := s.claimed
	s.mu.Unlock()
	var current []journal.Fence
	err := s.use(ctx, s.writes, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, `LOCK TABLE `+s.sql.shards+` IN SHARE MODE`); err != nil {
				return err
			}
			rows, err := tx.Query(ctx, `SELECT epoch, token FROM `+s.sql.shards+` ORDER BY shard`)
			if err != nil {
				return err
			}
			current, err = pgx.CollectRows(rows, scanFence)
			if err != nil || claimed != nil && !slices.Equal(claimed, current) {
				return err
			}
			_, err = tx.Exec(ctx, `UPDATE `+s.sql.heartbeat+` SET at = now()`)
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("postgres: ping: %w", err)
	}
	if claimed != nil && !slices.Equal(claimed, current) {
		return fmt.Errorf("postgres: ping: %w", journal.ErrFenced)
	}
	return nil
}

func scanFence(row pgx.CollectableRow) (journal.Fence, error) {
	var epoch int64
	var token []byte
	err := row.Scan(&epoch, &token)
	return fenceOf(epoch, token), err
}

// Close implements journal.Store. It waits for statements under way, and rolls back the transactions of guests that are
// still open.
func (s *Store) Close() error {
	for _, t := range s.open.close() {
		t.abandon()
	}
	s.close()
	s.inDoubt.attempts.Wait()
	return nil
}

// ClaimShards implements journal.Store.
//
// The lock waits for the batches under way and keeps new ones waiting (they hold SHARE), and lets one claim at a time
// through; it does not conflict with the row locks of guest transactions, for which the UPDATE itself waits. See
// commit.go for the other side.
func (s *Store) ClaimShards(ctx context.Context, owner string) ([]journal.Fence, error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, err
	}
	var fences []journal.Fence
	err := s.use(ctx, s.writes, claimFactor*s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
		return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
			fences, err = s.claim(ctx, tx, owner)
			return err
		})
	})
	if err != nil {
		return nil, beforeCommit("postgres: claim shards", err)
	}
	s.mu.Lock()
	s.claimed = slices.Clone(fences)
	s.mu.Unlock()
	return fences, nil
}

// claimFactor times CallLimit bounds a claim. It waits for the transactions of the former owner; if
// that is frozen, the server ends them soon after CallLimit.
const claimFactor = 3

func (s *Store) claim(ctx context.Context, tx pgx.Tx, owner string) ([]journal.Fence, error) {
	limit := strconv.FormatInt((claimFactor * s.config.CallLimit).Milliseconds(), 10)
	if _, err := tx.Exec(ctx, `SELECT set_config('statement_timeout', $1, true)`, limit); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, `LOCK TABLE `+s.sql.shards+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return nil, err
	}
	token := journal.NewToken()
	rows, err := tx.Query(
		ctx,
		`UPDATE `+s.sql.shards+
			` SET epoch = epoch + 1, token = $2, owner = $1, claimed_at = now() RETURNING shard, epoch`,
		owner, token[:],
	)
	if err != nil {
		return nil, err
	}
	fences := make([]journal.Fence, journal.NumShards)
	claimed := 0
	var shard int16
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&shard, &epoch}, func() error {
		if shard < 0 || shard >= journal.NumShards {
			return fmt.Errorf("shard %d is not below %d", shard, journal.NumShards)
		}
		fences[shard] = journal.Fence{Epoch: journal.Epoch(epoch), Token: token}
		claimed++
		return nil
	})
	if err == nil && claimed != journal.NumShards {
		err = fmt.Errorf("the store has %d shards, not %d", claimed, journal.NumShards)
	}
	return fences, err
}
