package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// read is use for reads. A connection may be lost already when it is taken from the pool: the server has ended it, or a
// caller that gave up has broken it. Then another one is tried, once, because a read can be repeated.
func (s *Store) read(ctx context.Context, call func(ctx context.Context, conn *pgxpool.Conn) error) error {
	lost := false
	once := func() error {
		return s.use(ctx, s.main, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
			err := call(ctx, conn)
			lost = err != nil && conn.Conn().IsClosed()
			return err
		})
	}
	err := once()
	var unanswered *unansweredError
	if lost && ctx.Err() == nil && !errors.As(err, &unanswered) {
		err = once()
	}
	return err
}

// entriesQuery reads a page of a journal. The first row of it may begin before the page.
func (st *statements) entriesQuery() string {
	return `SELECT seq, last, body, more FROM (
			SELECT seq, last, body, lead(seq) OVER page IS NOT NULL AS more, row_number() OVER page AS place,
				sum(octet_length(body)) OVER page AS total
			FROM (SELECT seq, last, body FROM ` + st.entries +
		` WHERE shard = $1 AND run = $2 AND last > $3 AND seq >= coalesce(
					(SELECT seq FROM ` + st.entries +
		` WHERE shard = $1 AND run = $2 AND seq <= $3 ORDER BY seq DESC LIMIT 1), 0)
				ORDER BY seq LIMIT $4 + 1) AS next
			WINDOW page AS (ORDER BY seq)
		) AS placed WHERE place = 1 OR place <= $4 AND total <= $5 ORDER BY seq`
}

// Entries implements journal.Store. The page is cut by the server: rows that come behind it are neither sent nor taken
// out of line, since the length of a value is known without it.
func (s *Store) Entries(
	ctx context.Context, run journal.RunKey, after uint64, limit journal.PageLimit,
) ([]journal.Entry, bool, error) {
	room := limit.Room()
	count, bytes := room.Left()
	type entryRow struct {
		first, last uint64
		body        []byte
		more        bool
	}
	scan := func(row sqlread.Row, e *entryRow) error { return row.Scan(&e.first, &e.last, &e.body, &e.more) }
	rows, err := sqlread.All(ctx, s.reader, scan, "journal of run", run.Run, s.sql.entriesQuery(),
		int16(run.Shard), run.Run[:], int64(min(after, 1<<63-1)), int64(count), int64(bytes))
	if err != nil {
		return nil, false, err
	}
	page := journal.NewEntryPage(after, limit)
	for _, row := range rows {
		more, err := page.Add(row.first, row.last, row.body)
		if err != nil {
			return nil, false, fmt.Errorf("postgres: journal of run %s: %w", run.Run, err)
		}
		if !more {
			return page.Entries, page.More, nil
		}
	}
	return page.Entries, len(rows) > 0 && rows[len(rows)-1].more, nil
}
