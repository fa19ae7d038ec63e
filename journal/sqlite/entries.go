package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// errEntryTaken says that a write has an entry whose sequence number is taken.
var errEntryTaken = errors.New("its sequence number is taken")

const (
	insertEntryRow = "INSERT INTO cruster_entries (shard, run, seq, last, body) VALUES (?1, ?2, ?3, ?4, ?5)"
	// selectLastBefore finds the end of the last row that begins at or before a number.
	selectLastBefore = "SELECT last FROM cruster_entries WHERE shard = ?1 AND run = ?2 AND seq <= ?3 ORDER BY seq " +
		"DESC LIMIT 1"
	// selectEntries reads rows that end behind a number: the row that contains it comes first.
	selectEntries = `SELECT seq, last, body FROM cruster_entries WHERE shard = ?1 AND run = ?2 AND last > ?3
		AND seq >= coalesce((SELECT max(seq) FROM cruster_entries WHERE shard = ?1 AND run = ?2 AND seq <= ?3), 0)
			ORDER BY seq`
)

// insertEntries appends the entries of a write to the journal of its run.
func (b *batch) insertEntries(w *journal.Write) error {
	key := journal.KeyOf(w.ID, w.Run)
	for _, r := range journal.PackEntries(w.Entries) {
		last, err := b.lastEntry(key, r.Last)
		if err == nil && last >= r.First {
			err = errEntryTaken
		}
		if err == nil {
			err = exec(b.conn, insertEntryRow, key, r.First, r.Last, r.Body)
		}
		if err != nil {
			return fmt.Errorf("entry %d of execution %s: %w", r.First, w.ID, err)
		}
	}
	return nil
}

// lastEntry is the last number of the rows that begin at or before one; 0 if there are none.
func (b *batch) lastEntry(of journal.RunKey, seq uint64) (last uint64, err error) {
	err = run(b.conn, selectLastBefore, values(of, seq), func(row *sqlite.Stmt) error {
		last = uint64(row.ColumnInt64(0))
		return nil
	})
	return last, err
}

// Entries implements journal.Store.
func (s *Store) Entries(
	ctx context.Context, of journal.RunKey, after uint64, limit journal.PageLimit,
) ([]journal.Entry, bool, error) {
	page := journal.NewEntryPage(after, limit)
	err := s.read(ctx, func(conn *sqlite.Conn) error {
		return run(conn, selectEntries, values(of, after), func(row *sqlite.Stmt) error {
			more, err := page.Add(uint64(row.ColumnInt64(0)), uint64(row.ColumnInt64(1)), blob(row, 2))
			if err == nil && !more {
				err = errEnough
			}
			return err
		})
	})
	if err != nil {
		return nil, false, fmt.Errorf("sqlite: entries of run %s: %w", of.Run, err)
	}
	return page.Entries, page.More, nil
}
