package postgres

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Store is a journal.Store in Postgres.
type Store struct {
	config  Config
	sql     statements
	main    *pgxpool.Pool // Cruster's own statements
	guests  *pgxpool.Pool // transactions of activities
	params  paramCache
	open    openGuests
	inDoubt inDoubt

	deploying chan struct{} // capacity 1: held by the deployment under way

	commits atomic.Uint64

	mu      sync.Mutex
	ready   map[string]bool // namespaces that have their schema and role; guarded by mu
	claimed []journal.Epoch // of the latest claim, nil before the first; guarded by mu
}

var _ journal.Store = (*Store)(nil)

// Open connects, brings the schema up to date and checks that the database
// user may do what Cruster needs. Several hosts may open at the same time.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	base, err := pgxpool.ParseConfig(c.DSN)
	if err != nil {
		return nil, abi.Errorf(abi.CodeBadConfig, "the connection string of the Postgres store is not valid: %v", err)
	}
	if err := migrate(ctx, base.ConnConfig, &c); err != nil {
		return nil, err
	}
	s := &Store{config: c, sql: newStatements(c.Schema), deploying: make(chan struct{}, 1), ready: map[string]bool{}}
	if s.main, err = s.pool(ctx, base.Copy(), c.MaxConns, mainSettings, 0); err != nil {
		return nil, err
	}
	if s.guests, err = s.pool(ctx, base.Copy(), c.MaxGuestConns, guestSettings, maxGuestMessage); err != nil {
		s.main.Close()
		return nil, err
	}
	return s, nil
}

// mainSettings hold for Cruster's own connections. All its statements are
// look-ups by key, yet the planner, seeing a table that is still small or was
// never analysed, likes to scan it, and keeps that plan while the table grows:
// so scans are forbidden, and plans are made once.
var mainSettings = map[string]string{
	"application_name": "cruster",
	"enable_hashjoin":  "off",
	"enable_mergejoin": "off",
	"enable_seqscan":   "off",
	"jit":              "off",
	"plan_cache_mode":  "force_generic_plan",
	"timezone":         "UTC",
}

// guestSettings pin how values are written, which guestrows.go reads.
var guestSettings = map[string]string{
	"application_name":            "cruster-guest",
	"bytea_output":                "hex",
	"datestyle":                   "ISO, YMD",
	"intervalstyle":               "iso_8601",
	"timezone":                    "UTC",
	"standard_conforming_strings": "on",
}

func (s *Store) pool(ctx context.Context, pc *pgxpool.Config, conns int32, settings map[string]string, maxMessage int) (*pgxpool.Pool, error) {
	pc.MaxConns = conns
	pc.MinConns = 0
	for name, value := range settings {
		pc.ConnConfig.RuntimeParams[name] = value
	}
	pc.ConnConfig.MaxProtocolMessageBodyLen = maxMessage
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if err := identifySession(ctx, conn); err != nil {
			return err
		}
		return s.sql.prepare(ctx, conn)
	}
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: open pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, noConnection(err)
	}
	return pool, nil
}

// Dialect implements journal.Store.
func (s *Store) Dialect() string { return abi.DialectPostgres }

// Commits counts the transactions that this store committed to the journal:
// batches and transactions of activities.
func (s *Store) Commits() uint64 { return s.commits.Load() }

// Ping implements journal.Store: it takes the lock that every commit takes, so
// that a standby, or a database in which commits are stuck, is noticed. An idle
// host commits nothing: here it learns that another has taken over.
func (s *Store) Ping(ctx context.Context) error {
	s.mu.Lock()
	claimed := s.claimed
	s.mu.Unlock()
	var current []journal.Epoch
	err := pgx.BeginFunc(ctx, s.main, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE `+s.sql.shards+` IN SHARE MODE`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `SELECT epoch FROM `+s.sql.shards+` ORDER BY shard`)
		if err != nil {
			return err
		}
		current, err = pgx.CollectRows(rows, pgx.RowTo[journal.Epoch])
		return err
	})
	if err != nil {
		return fmt.Errorf("postgres: ping: %w", err)
	}
	if claimed != nil && !slices.Equal(claimed, current) {
		return fmt.Errorf("postgres: ping: %w", journal.ErrFenced)
	}
	return nil
}

// Close implements journal.Store. It waits for statements under way, and rolls
// back the transactions of guests that are still open.
func (s *Store) Close() error {
	for _, t := range s.open.close() {
		t.abandon()
	}
	s.guests.Close()
	s.main.Close()
	return nil
}

// ClaimShards implements journal.Store.
//
// The lock waits for the batches under way and keeps new ones waiting (they
// hold SHARE), and lets one claim at a time through; it does not conflict with
// the row locks of guest transactions, for which the UPDATE itself waits. See
// commit.go for the other side.
func (s *Store) ClaimShards(ctx context.Context, owner string) ([]journal.Epoch, error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, err
	}
	epochs := make([]journal.Epoch, journal.NumShards)
	claimed := 0
	err := pgx.BeginTxFunc(ctx, s.main, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE `+s.sql.shards+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, `UPDATE `+s.sql.shards+` SET epoch = epoch + 1, owner = $1, claimed_at = now() RETURNING shard, epoch`, owner)
		if err != nil {
			return err
		}
		var shard int16
		var epoch int64
		_, err = pgx.ForEachRow(rows, []any{&shard, &epoch}, func() error {
			if shard < 0 || shard >= journal.NumShards {
				return fmt.Errorf("shard %d is not below %d", shard, journal.NumShards)
			}
			epochs[shard] = journal.Epoch(epoch)
			claimed++
			return nil
		})
		return err
	})
	if err != nil {
		return nil, beforeCommit("postgres: claim shards", err)
	}
	if claimed != journal.NumShards {
		return nil, fmt.Errorf("postgres: claim shards: the store has %d shards, not %d", claimed, journal.NumShards)
	}
	s.mu.Lock()
	s.claimed = slices.Clone(epochs)
	s.mu.Unlock()
	return epochs, nil
}
