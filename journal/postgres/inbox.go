package postgres

import (
	"context"
	"math"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// messagesQuery reads a page of an inbox.
func (st *statements) messagesQuery() string {
	return `SELECT ` + st.reads.MessageColumns + `, more FROM (
			SELECT next.*, lead(position) OVER page IS NOT NULL AS more, row_number() OVER page AS place,
				sum(bytes) OVER page AS total
			FROM (SELECT ` + st.reads.MessageColumns + ` FROM ` + st.inbox +
		` WHERE shard = $1 AND id = $2 AND chain = $6 AND position > $3 AND parked IS NULL
				ORDER BY position LIMIT $4 + 1) AS next
			WINDOW page AS (ORDER BY position)
		) AS placed WHERE place = 1 OR place <= $4 AND total <= $5 ORDER BY position`
}

// Messages implements journal.Store. As with Entries, the page is cut by the server.
func (s *Store) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) (messages []journal.Message, more bool, err error) {
	room := limit.Room()
	count, bytes := room.Left()
	scan := func(row sqlread.Row, m *journal.Message) error { return sqlread.ScanMessageWith(row, m, &more) }
	messages, err = sqlread.All(ctx, s.reader, scan, "messages to", to.ID, s.sql.messagesQuery(),
		int16(to.ID.Shard()), to.ID[:], int64(min(after, math.MaxInt64)), int64(count), int64(bytes),
		chainColumn(to.Chain),
	)
	return messages, more, err
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanID, "receivers of mail", nil, s.sql.mailReceiversQuery(),
		int16(after.Shard()), after[:], max(limit, 0))
}

// mailReceiversQuery leaps from each receiver of mail to the next, so that a page does not read the mail behind it:
// the server makes no more rows than the limit asks for.
func (st *statements) mailReceiversQuery() string {
	return `WITH RECURSIVE receivers AS (
			(SELECT shard, id FROM ` + st.inbox +
		` WHERE kind IN ('result', 'interrupt', 'terminate') AND (shard, id) > ($1, $2) ORDER BY shard, id LIMIT 1)
			UNION ALL
			SELECT n.* FROM receivers r CROSS JOIN LATERAL (SELECT i.shard, i.id FROM ` + st.inbox + ` i
				WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id) > (r.shard, r.id)
					ORDER BY i.shard, i.id LIMIT 1) AS n)
		SELECT r.id FROM receivers r CROSS JOIN LATERAL (SELECT FROM ` + st.executions + ` e
			WHERE e.shard = r.shard AND e.id = r.id AND e.superseded = 0 * r.shard AND EXISTS (SELECT FROM ` +
		st.inbox + ` i
				WHERE i.shard = e.shard AND i.id = e.id AND i.kind IN ('result', 'interrupt', 'terminate')
					AND i.chain = coalesce(e.chain, e.run)
					AND (e.state = 'running' OR e.state = 'paused' AND i.kind <> 'result'))) AS waiting LIMIT $3`
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanID, "receivers", nil, s.sql.receiversQuery(),
		int16(after.Shard()), after[:], max(limit, 0))
}

// receiversQuery leaps from each entity with messages to the next, over all of its other messages,
// in an index without messages of executions: there may be millions of finished ones with settled
// deferreds.
func (st *statements) receiversQuery() string {
	return `WITH RECURSIVE receivers AS (
			(SELECT shard, id FROM ` + st.inbox +
		` WHERE chain = '' AND parked IS NULL AND (shard, id) > ($1, $2) ORDER BY shard, id LIMIT 1)
			UNION ALL
			SELECT n.* FROM receivers r CROSS JOIN LATERAL (SELECT i.shard, i.id FROM ` + st.inbox + ` i
				WHERE i.chain = '' AND i.parked IS NULL AND (i.shard, i.id) > (r.shard, r.id) ORDER BY i.shard, i.id
					LIMIT 1) AS n)
		SELECT id FROM receivers LIMIT $3`
}
