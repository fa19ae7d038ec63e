package sqlite

import (
	"context"
	"fmt"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

const selectDue = "SELECT id, wake_at FROM cruster_executions WHERE state = 'running' AND wake_at <= ?1 AND " +
	"(wake_at, " +
	"id) > (?2, ?3) ORDER BY wake_at, id LIMIT +?4"

// Due implements journal.Store.
func (s *Store) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanWake, "due executions", nil, selectDue,
		until, after.At, after.ID[:], max(limit, 0))
}

// Ping implements journal.Store: it takes the write lock and gives it back, and commits something if the disk failed
// the last commit.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.queue.acquire(ctx, journalUser); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	defer s.queue.release()
	defer rollback(s.writer)
	if err := s.begin(); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	if !s.diskFailed.Load() {
		return nil
	}
	// The disk was full, or worse: only a commit tells whether it still is, and only one as large
	// as the journal's.
	for _, query := range []string{
		"INSERT INTO cruster_meta (name, value) VALUES ('ping', hex(zeroblob(32768)))",
		"DELETE FROM cruster_meta WHERE name = 'ping'",
	} {
		if err := run(s.writer, query, nil, nil); err != nil {
			return fmt.Errorf("sqlite: ping: %w", err)
		}
	}
	if err := s.commit(); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	s.diskFailed.Store(false)
	return nil
}
