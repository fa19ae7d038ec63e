package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pools are the connections of a store. Commits have their own: neither reads, however many executions are loaded at
// once, nor activities, which hold a connection while guest code runs, can take connections from commits.
type pools struct {
	writes *pgxpool.Pool // batches, claims and pings
	main   *pgxpool.Pool // reads, and Cruster's other statements
	guests *pgxpool.Pool // transactions of activities, and deployments
}

// batchesAtOnce is how many batches of steps are under way at once.
const batchesAtOnce = 2

// commitConns is how many connections commits have: one for each batch of steps, one for saved states, and one for
// claims and pings, or for a batch while its own is replaced.
const commitConns = batchesAtOnce + 2

// waitFactor times CallLimit is how long a call waits for a connection. Each is given back within CallLimit, so that
// the queue moves; it may be long all the same when a host brings back thousands of executions.
const waitFactor = 6

func (p *pools) all() []*pgxpool.Pool { return []*pgxpool.Pool{p.guests, p.main, p.writes} }

func (p *pools) close() {
	for _, pool := range p.all() {
		if pool != nil {
			pool.Close()
		}
	}
}

// reset closes all connections, busy ones when they are given back.
func (p *pools) reset() {
	for _, pool := range p.all() {
		if pool != nil { // it is nil while the store is opened
			pool.Reset()
		}
	}
}

// ownSettings hold for Cruster's own connections. All its statements are look-ups by key, yet the planner, seeing a
// table that is still small or was never analysed, likes to scan it, and keeps that plan while the table grows: so
// scans are forbidden, and plans are made once.
var ownSettings = map[string]string{
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

// The peer of a connection that carries nothing is asked whether it is there after keepAliveIdle, then every second,
// and given up after keepAliveCount questions without an answer. Both sides do so: the host finds a dead connection
// before it needs it, and the server frees the locks of a host that is gone. A connection with a call has CallLimit;
// this is for idle ones.
const (
	keepAliveIdle  = 5 * time.Second
	keepAliveCount = 5
)

// openPools connects all pools.
func (s *Store) openPools(ctx context.Context, base *pgxpool.Config) (err error) {
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	writes, main, guests := base.Copy(), base.Copy(), base.Copy()
	for _, own := range []*pgxpool.Config{writes, main} {
		set(own.ConnConfig, s.ownSettings())
		own.ConnConfig.OnPgError = s.dropReadOnly
	}
	set(guests.ConnConfig, guestSettings)
	guests.ConnConfig.OnPgError = dropOneReadOnly
	guests.ConnConfig.MaxProtocolMessageBodyLen = maxGuestMessage
	writes.MaxConns, main.MaxConns, guests.MaxConns = commitConns, s.config.MaxConns, s.config.MaxGuestConns
	// A read-only server does not get into the pools that write, and a server that may lag behind
	// gets into none: the store promises to see acknowledged writes.
	writes.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	main.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	guests.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite

	if s.writes, err = s.pool(ctx, writes); err != nil {
		return err
	}
	if s.main, err = s.pool(ctx, main); err != nil {
		return err
	}
	s.guests, err = s.pool(ctx, guests)
	return err
}

// ownSettings adds the limits to the settings: the server, too, gives up statements that take longer than the host
// waits for them. A transaction of a host that was frozen, or lost, in the middle of it ends and frees its locks.
func (s *Store) ownSettings() map[string]string {
	limit := strconv.FormatInt((s.config.CallLimit + time.Second).Milliseconds(), 10)
	settings := map[string]string{"statement_timeout": limit, "idle_in_transaction_session_timeout": limit}
	for name, value := range ownSettings {
		settings[name] = value
	}
	return settings
}

func set(c *pgx.ConnConfig, settings map[string]string) {
	for name, value := range settings {
		c.RuntimeParams[name] = value
	}
}

// dropReadOnly closes a connection whose session cannot write. The others are likely to be as old: all pools begin
// anew.
func (s *Store) dropReadOnly(conn *pgconn.PgConn, err *pgconn.PgError) bool {
	if err.Code == stateReadOnly {
		s.reset()
	}
	return dropOneReadOnly(conn, err)
}

// dropOneReadOnly closes a connection whose session cannot write, or that the server ends. A module can raise whatever
// error it likes: its connection alone pays for that.
func dropOneReadOnly(_ *pgconn.PgConn, err *pgconn.PgError) bool {
	return err.Code != stateReadOnly && !strings.EqualFold(err.Severity, "FATAL")
}

func (s *Store) pool(ctx context.Context, pc *pgxpool.Config) (*pgxpool.Pool, error) {
	pc.MinConns = 0
	pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// Each round trip has the limit: together they may take longer on a busy machine.
		if err := inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
			return identifySession(ctx, conn)
		}); err != nil {
			return err
		}
		if err := inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
			return enableClientCheck(ctx, conn)
		}); err != nil {
			return err
		}
		return s.sql.prepare(ctx, conn, s.config.CallLimit)
	}
	pc.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // see acquire
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("postgres: open pool: %w", err)
	}
	if err := inTime(ctx, 2*s.config.CallLimit, pool.Ping); err != nil {
		pool.Close()
		return nil, noConnection(err)
	}
	return pool, nil
}

// enableClientCheck has the server check now and then, in the middle of a statement, that the client is still
// connected. A caller that gives up closes its connection and asks the server to cancel; if that request comes a moment
// too early the statement would go on for as long as it takes, with all its locks. Servers before version 14 have no
// such setting, and on some systems it cannot be set: then the limits of statements remain.
func enableClientCheck(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(
		ctx, `SELECT set_config(name, '1s', false) FROM pg_settings WHERE name = 'client_connection_check_interval'`,
		pgx.QueryExecModeSimpleProtocol,
	)
	if sqlState(err) != "" {
		return nil
	}
	return err
}

// bound limits how long a connection may take to come about and to be found dead.
func bound(c *pgx.ConnConfig, limit time.Duration) {
	if c.ConnectTimeout <= 0 || c.ConnectTimeout > limit {
		c.ConnectTimeout = limit
	}
	idle := strconv.Itoa(int(keepAliveIdle.Seconds()))
	for name, value := range map[string]string{
		"tcp_keepalives_idle":     idle,
		"tcp_keepalives_interval": "1",
		"tcp_keepalives_count":    strconv.Itoa(keepAliveCount),
		"tcp_user_timeout":        strconv.FormatInt((keepAliveIdle + keepAliveCount*time.Second).Milliseconds(), 10),
	} {
		c.RuntimeParams[name] = value
	}
	dialer := &net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: keepAliveIdle, Interval: time.Second, Count: keepAliveCount,
	}}
	c.DialFunc = dialer.DialContext
}

const (
	// idleTrust is how long a connection may be idle and still be used untested.
	idleTrust = time.Second
	// lastUsed names, in the data of a connection, when it was given back.
	lastUsed = "cruster.last-used"
)

// acquire takes a connection out of a pool; give puts it back.
//
// A connection that was idle for a while is tested before a call relies on it: a commit on a dead
// connection would be undecided. The test is not left to the pool, which would keep the place of a
// dead connection occupied until it is closed in good order, and go through the others one by one.
func (s *Store) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	wait := waitFactor * s.config.CallLimit
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		conn, err := pool.Acquire(waiting)
		switch {
		case err == nil && s.alive(waiting, conn):
			return conn, nil
		case err == nil:
			s.give(conn)
			pool.Reset()
		case errors.Is(err, pgconn.ErrReadOnlyConnection):
			return nil, fmt.Errorf("the database is read-only: %w", err)
		case waiting.Err() != nil && ctx.Err() == nil:
			return nil, fmt.Errorf("no connection within %v", wait)
		case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			//nolint:errorlint // the deadline is ours, not the caller's
			return nil, fmt.Errorf("no connection: %v", err)
		default:
			return nil, err
		}
	}
}

// alive tests a connection that was idle. If it is dead it is closed.
func (s *Store) alive(ctx context.Context, conn *pgxpool.Conn) bool {
	used, ok := conn.Conn().PgConn().CustomData()[lastUsed].(time.Time)
	if !ok || s.config.Clock.Since(used) <= idleTrust {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallLimit/2)
	defer cancel()
	return conn.Ping(ctx) == nil || !conn.Conn().IsClosed()
}

// give returns a connection. A lost one leaves the pool at once: closing it in good order may take
// long if the server does not answer, and would keep its place occupied meanwhile.
func (s *Store) give(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() {
		conn.Hijack()
		return
	}
	conn.Conn().PgConn().CustomData()[lastUsed] = s.config.Clock.Now()
	conn.Release()
}

// use runs a call of ours on a connection, within a limit. If the connection is lost, and not because the caller gave
// up, the others of its pool are suspect: all are given up, so that the next calls do not have to find out one by one.
func (s *Store) use(
	ctx context.Context, pool *pgxpool.Pool, limit time.Duration,
	call func(ctx context.Context, conn *pgxpool.Conn) error,
) error {
	conn, err := s.acquire(ctx, pool)
	if err != nil {
		return err
	}
	defer s.give(conn)
	err = inTime(ctx, limit, func(ctx context.Context) error { return call(ctx, conn) })
	if conn.Conn().IsClosed() && ctx.Err() == nil {
		pool.Reset()
	}
	return err
}

// inTime runs a call that the server has to answer within a limit.
func inTime(ctx context.Context, limit time.Duration, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, &unansweredError{limit: limit})
	defer cancel()
	return asUnanswered(ctx, call(ctx))
}

// asUnanswered distinguishes a server that did not answer in time from a caller that gave up.
func asUnanswered(ctx context.Context, err error) error {
	var unanswered *unansweredError
	if err == nil || sqlState(err) != "" || errors.As(err, &unanswered) || !errors.As(context.Cause(ctx), &unanswered) {
		return err
	}
	return &unansweredError{limit: unanswered.limit, cause: err}
}

// unansweredError is the failure of a call that the server did not answer in time. It is the store's
// failure, not the caller's deadline: it does not unwrap to context.DeadlineExceeded.
type unansweredError struct {
	limit time.Duration
	cause error
}

func (e *unansweredError) Error() string {
	return fmt.Sprintf("Postgres did not answer within %v", e.limit)
}

// SafeToRetry tells pgconn.SafeToRetry whether anything was sent.
func (e *unansweredError) SafeToRetry() bool { return pgconn.SafeToRetry(e.cause) }
