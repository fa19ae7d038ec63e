package postgres

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// sessionKey names the key of the session's lock in the data of a connection.
const sessionKey = "cruster.session"

// resolveLimit bounds how long one attempt to end a lost session may take.
const resolveLimit = 5 * time.Second

// inDoubt keeps the sessions that were lost with a commit under way and may still
// commit.
//
// When the connection breaks during a COMMIT, the server need not notice: the
// session may still be there, waiting for a lock or for the disk, and commit a
// second later. A caller that looks the commit up in between finds nothing and
// repeats the work, and it is done twice. So the store must not answer "not found"
// before the session has ended.
//
// Each connection holds an advisory lock of its own from the start. The server
// releases it when the session ends, after its last transaction is committed or
// rolled back. The store ends a session that is in doubt by force and waits for
// its lock. Until that has succeeded it answers no read and takes no write.
//
// A host that crashes leaves its successor with the same problem. There the epochs
// solve it, because a claim waits for every commit that holds the fence.
type inDoubt struct {
	any atomic.Bool // whether there are any, so that the common case takes no lock

	mu   sync.Mutex
	keys map[int64]struct{} // of the sessions' locks; guarded by mu
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

// markInDoubt notes that a connection was lost with a commit under way, and tries
// at once to end its session.
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
		s.config.Logger.WarnContext(ctx, "a lost session may still commit; nothing is read or written until it has ended", "store", "postgres", "error", err)
	}
}

// resolveInDoubt returns when no lost session can commit any more.
func (s *Store) resolveInDoubt(ctx context.Context) error {
	if !s.inDoubt.any.Load() {
		return nil
	}
	s.inDoubt.mu.Lock()
	defer s.inDoubt.mu.Unlock()
	if len(s.inDoubt.keys) == 0 {
		return nil // another call resolved them meanwhile
	}
	ctx, cancel := context.WithTimeout(ctx, resolveLimit)
	defer cancel()
	// Not from the pools: their connections may all wait for this.
	conn, err := pgx.ConnectConfig(ctx, s.main.Config().ConnConfig)
	if err != nil {
		return noConnection(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, key := range slices.Collect(maps.Keys(s.inDoubt.keys)) {
		if err := endSession(ctx, conn, key); err != nil {
			return fmt.Errorf("postgres: end a lost session: %w", err)
		}
		delete(s.inDoubt.keys, key)
	}
	s.inDoubt.any.Store(false)
	return nil
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
