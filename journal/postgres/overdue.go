package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// # Statements that do not end
//
// The server ends a statement at its limit, if it can: between two rows, in a wait for a lock. It
// cannot in the middle of arithmetic with long numbers, nor if a function of the module traps the
// cancellation. Then nothing comes over the connection, and the host gives it up, as it gives up a
// dead one. The two are not the same trouble. A dead connection is the store's: the activity is
// repeated, uncounted, and the others of its pool are suspect. A statement that does not end is the
// module's: repeated uncounted it would never stop, and each time take the connections of all
// others.
//
// From this end both are silence. So another connection asks the server, when the statement should
// have ended and has not: is the session at work? A session whose statement never arrived, or whose
// answer was lost, is idle. A pooler between the two has sessions of its own; then the answer is no,
// and the silence is the store's as before.

// watchLocked has the server asked about the next statement, once that exceeds its limit. Overdue
// tells, when the statement has ended or is given up, whether the server was found to work on it.
func (t *guestTx) watchLocked(ctx context.Context) (overdue func() bool) {
	s, session := t.store, t.conn.Conn().PgConn().PID()
	answer := make(chan bool, 1)
	asks := s.config.Clock.AfterFunc(t.deadline.Sub(s.config.Clock.Now())+s.config.CallLimit/2, func() {
		answer <- s.isAtWork(ctx, session)
	})
	return func() bool { return !asks.Stop() && <-answer }
}

// isAtWork tells whether a session of this store is in the middle of a statement.
func (s *Store) isAtWork(ctx context.Context, session uint32) (active bool) {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallLimit/2)
	defer cancel()
	err := s.use(ctx, s.main, s.config.CallLimit/2, func(ctx context.Context, conn *pgxpool.Conn) error {
		const query = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active')`
		return conn.QueryRow(ctx, query, int64(session)).Scan(&active)
	})
	return err == nil && active
}
