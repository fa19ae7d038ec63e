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

// What an undecided commit leaves behind.
//
// When the connection breaks with a COMMIT under way, the server need not know
// of it: the session may still sit there, waiting for a lock or for the disk,
// and commit a second later. Whoever looks the commit up in between finds
// nothing, repeats the work, and it is done twice. So "not there" must not be
// said before the session is known to be over.
//
// Each connection holds an advisory lock of its own from the start. The server
// gives it back when the session ends, after its last transaction is committed
// or rolled back. A connection that was lost with a commit under way becomes a
// doubt: its session is ended by force, and its lock waited for. Until that has
// succeeded this store answers no read and takes no write.
//
// A host that crashes has the same worry for its successor; there the epochs
// answer it, for a claim waits for every commit that holds the fence.

// sessionKey names the key of the session's lock in the data of a connection.
const sessionKey = "cruster.session"

// doubtLimit bounds how long one attempt to end a lost session may take.
const doubtLimit = 5 * time.Second

// doubts are the sessions that may still commit.
type doubts struct {
	open atomic.Bool // whether there are any: the way past them is short

	mu   sync.Mutex
	keys map[int64]struct{} // guarded by mu
}

// identify gives a new connection its lock.
func identify(ctx context.Context, conn *pgx.Conn) error {
	key := rand.Int64()
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, key); err != nil {
		return fmt.Errorf("postgres: identify a session: %w", err)
	}
	conn.PgConn().CustomData()[sessionKey] = key
	return nil
}

// doubt notes that a connection was lost with a commit under way, and tries at
// once to make sure of its end.
func (s *Store) doubt(ctx context.Context, conn *pgx.Conn) {
	key, ok := conn.PgConn().CustomData()[sessionKey].(int64)
	if !ok {
		return
	}
	s.doubts.mu.Lock()
	if s.doubts.keys == nil {
		s.doubts.keys = map[int64]struct{}{}
	}
	s.doubts.keys[key] = struct{}{}
	s.doubts.open.Store(true)
	s.doubts.mu.Unlock()
	if err := s.dispel(context.WithoutCancel(ctx)); err != nil {
		s.config.Logger.WarnContext(ctx, "a lost session may still commit; nothing is read or written until it is over", "store", "postgres", "error", err)
	}
}

// dispel returns when no lost session can commit any more.
func (s *Store) dispel(ctx context.Context) error {
	if !s.doubts.open.Load() {
		return nil
	}
	s.doubts.mu.Lock()
	defer s.doubts.mu.Unlock()
	if len(s.doubts.keys) == 0 {
		return nil // somebody else has done it
	}
	ctx, cancel := context.WithTimeout(ctx, doubtLimit)
	defer cancel()
	// Not from the pools: their connections may all wait for this.
	conn, err := pgx.ConnectConfig(ctx, s.main.Config().ConnConfig)
	if err != nil {
		return noConnection(err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, key := range slices.Collect(maps.Keys(s.doubts.keys)) {
		if err := endSession(ctx, conn, key); err != nil {
			return fmt.Errorf("postgres: end a lost session: %w", err)
		}
		delete(s.doubts.keys, key)
	}
	s.doubts.open.Store(false)
	return nil
}

// endSession ends whoever holds the lock, and waits for it.
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
