package postgres

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// sessionKey names the key of the session's lock in the data of a connection.
const sessionKey = "cruster.session"

// inDoubt keeps the sessions that were lost with a commit under way and may still commit.
//
// When the connection breaks during a COMMIT, the server need not notice: the session may still be there, waiting for a
// lock or for the disk, and commit a second later. A caller that looks the commit up in between finds nothing and
// repeats the work, and it is done twice. So the store must not answer "not found" before the session has ended.
//
// Each connection holds an advisory lock of its own from the start. The server releases it when the session ends, after
// its last transaction is committed or rolled back. The store ends a session that is in doubt by force and waits for
// its lock. Until that has succeeded it answers no read and takes no write.
//
// A host that crashes leaves its successor with the same problem. There the epochs solve it, because a claim waits for
// every commit that holds the fence.
type inDoubt struct {
	any atomic.Bool // whether there are any, so that the common case takes no lock

	mu       sync.Mutex
	keys     map[int64]struct{} // of the sessions' locks; guarded by mu
	attempt  *attempt           // the one under way, if any; guarded by mu
	attempts sync.WaitGroup
}

// attempt is an attempt to end all sessions that are in doubt. All calls that need it to succeed share it: a thousand
// reads that each tried for themselves, one after the other, would keep the store busy long after the database is back.
type attempt struct {
	done chan struct{} // closed when it has ended
	err  error         // set before that
}

// identifySession gives a new connection its lock.
func identifySession(ctx context.Context, conn *pgx.Conn) error {
	key := rand.Int64()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, key); err != nil {
		return fmt.Errorf("postgres: identify a session: %w", err)
	}
	conn.PgConn().CustomData()[sessionKey] = key
	return nil
}

// markInDoubt notes that a connection was lost with a commit under way, and tries at once to end its session.
func (s *Store) markInDoubt(ctx context.Context, conn *pgx.Conn) {
	key, ok := conn.PgConn().CustomData()[sessionKey].(int64)
	if !ok {
		return
	}
	s.inDoubt.mu.Lock()
	if s.inDoubt.keys == nil {
		s.inDoubt.keys = map[int64]struct{}{}
	}
	s.inDoubt.keys[key] = struct{}{}
	s.inDoubt.any.Store(true)
	s.inDoubt.mu.Unlock()
	if err := s.resolveInDoubt(context.WithoutCancel(ctx)); err != nil {
		s.config.Logger.WarnContext(
			ctx, "a lost session may still commit; nothing is read or written until it has ended", "store", "postgres",
			"error", err,
		)
	}
}

// resolveInDoubt returns when no lost session can commit any more.
func (s *Store) resolveInDoubt(ctx context.Context) error {
	if !s.inDoubt.any.Load() {
		return nil
	}
	a := s.joinAttempt()
	if a == nil {
		return nil
	}
	select {
	case <-a.done:
		return a.err
	case <-ctx.Done():
		return fmt.Errorf("postgres: wait for the end of a lost session: %w", ctx.Err())
	}
}

// joinAttempt returns the attempt under way, or begins one; nil if no session is in doubt any more.
// It ends only when none is left, so that it covers sessions lost meanwhile.
func (s *Store) joinAttempt() *attempt {
	d := &s.inDoubt
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attempt == nil && len(d.keys) > 0 {
		a := &attempt{done: make(chan struct{})}
		d.attempt = a
		d.attempts.Go(func() {
			if a.err = inTime(context.Background(), s.config.CallLimit, s.endLostSessions); a.err != nil {
				d.failed()
			}
			close(a.done)
		})
	}
	return d.attempt
}

// endLostSessions is an attempt.
func (s *Store) endLostSessions(ctx context.Context) error {
	// Not from the pools: their connections may all wait for this.
	conn, err := pgx.ConnectConfig(ctx, s.main.Config().ConnConfig)
	if err != nil {
		return noConnection(err)
	}
	defer conn.Close(ctx)
	for {
		key, ok := s.inDoubt.next()
		if !ok {
			return nil
		}
		if err := endSession(ctx, conn, key); err != nil {
			return fmt.Errorf("postgres: end a lost session: %w", err)
		}
		s.inDoubt.ended(key)
	}
}

// next returns a session in doubt. If none is left the attempt has ended.
func (d *inDoubt) next() (key int64, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.keys {
		return key, true
	}
	d.any.Store(false)
	d.attempt = nil
	return 0, false
}

func (d *inDoubt) ended(key int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.keys, key)
}

// failed ends an attempt that did not get to its end.
func (d *inDoubt) failed() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempt = nil
}

// endSession ends the session that holds the lock, and waits until it has.
func endSession(ctx context.Context, conn *pgx.Conn, key int64) error {
	_, err := conn.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND pid <> pg_backend_pid()
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint = ($1::bigint >> 32) & 4294967295 AND objid::bigint = $1::bigint & 4294967295`, key)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, key)
	return err
}
