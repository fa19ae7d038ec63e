package sqlite

import (
	"errors"
	"sync"

	"zombiezen.com/go/sqlite"
)

// Lengths of the log, in pages of 4 KiB.
const (
	// copyEvery is how much of the log is copied back at a time. A page that many commits have changed since is copied
	// once.
	copyEvery = 8_000
	// longLog is where the log is to begin anew.
	longLog = 16_000
	// longestLog is the length from which commits copy the remainder themselves.
	longestLog = 20_000
	// lookEvery is after how many commits the length is looked at.
	lookEvery = 8
)

// checkpointer copies the log back into the database, beside commits.
//
// SQLite does so by itself at the end of a commit that finds the log long: all executions then wait until thousands of
// pages are written and flushed. Another handle can do it at the same time as the writer commits. Durability does not
// hang on it: SQLite flushes the log before it copies from it, flushes the database before it lets the log begin anew,
// and reads the log for as long as that has not happened.
//
// The log begins anew when a commit finds all of it copied. While commits go on there is always a rest. So a log that
// is long is copied again and again, until the rest is small, and the commit that finds it longest copies that by
// itself.
type checkpointer struct {
	wanted chan struct{} // capacity 1; closed to end it
	done   sync.WaitGroup

	mu   sync.Mutex
	conn *sqlite.Conn // guarded by mu
}

func newCheckpointer(path string) (*checkpointer, error) {
	conn, err := openConn(path, "")
	if err != nil {
		return nil, err
	}
	c := &checkpointer{conn: conn, wanted: make(chan struct{}, 1)}
	c.done.Go(func() {
		for range c.wanted {
			// A failure leaves the log as it is: the next one meets it again, and in the end a commit does.
			if log, copied, err := c.checkpoint("NOOP"); err == nil && copyDue(log, copied) {
				_, _, _ = c.checkpoint("PASSIVE")
			}
		}
	})
	return c, nil
}

// copyDue reports whether a log of this many pages, with so many copied, is to be copied now.
func copyDue(log, copied int) bool {
	return log-copied >= copyEvery || log >= longLog && copied < log
}

// look has it look at the log soon. Only the user of the writer calls it.
func (c *checkpointer) look() {
	select {
	case c.wanted <- struct{}{}:
	default:
	}
}

// checkpoint copies as much as possible without waiting for anyone (PASSIVE) or nothing (NOOP), and
// tells how many pages the log has and how many of them are copied.
func (c *checkpointer) checkpoint(mode string) (log, copied int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err = run(c.conn, "PRAGMA wal_checkpoint("+mode+")", nil, func(row *sqlite.Stmt) error {
		if row.ColumnInt(0) != 0 {
			return errBusyLog
		}
		log, copied = row.ColumnInt(1), row.ColumnInt(2)
		return nil
	})
	return log, copied, err
}

var errBusyLog = errors.New("sqlite: the log is being copied by another")

// close ends it and closes its handle.
func (c *checkpointer) close() error {
	close(c.wanted)
	c.done.Wait()
	return c.conn.Close()
}
