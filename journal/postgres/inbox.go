package postgres

import (
	"context"
	"math"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

const envelopeColumns = `position, origin, kind, name, at, repeatable, held, bytes, sender, sender_run, step`

const messageColumns = envelopeColumns + `, value`

// scanEnvelope reads the columns of an envelope, and others behind them.
func scanEnvelope(row pgx.CollectableRow, more ...any) (e journal.Envelope, err error) {
	var position int64
	var origin, sender, run, step []byte
	into := []any{&position, &origin, &e.Kind, &e.Name, &e.At, &e.Repeatable, &e.Held, &e.Bytes, &sender, &run, &step}
	err = row.Scan(append(into, more...)...)
	e.Position = uint64(position)
	copy(e.Origin[:], origin)
	e.From = callerOf(sender, run, step)
	return e, err
}

// scanMessage reads the columns of a message, and others behind them.
func scanMessage(row pgx.CollectableRow, more ...any) (m journal.Message, err error) {
	m.Envelope, err = scanEnvelope(row, append([]any{&m.Value}, more...)...)
	return m, err
}

// callerOf makes a step of its columns.
func callerOf(id, run, step []byte) (c journal.Caller) {
	copy(c.ID[:], id)
	copy(c.Run[:], run)
	copy(c.Step[:], step)
	return c
}

// inboxQuery lists the envelopes of an inbox.
func (st *statements) inboxQuery() string {
	return `SELECT ` + envelopeColumns + ` FROM ` + st.inbox + ` WHERE shard = $1 AND id = $2 AND chain = $4 AND position > $3 AND parked IS NULL ORDER BY position`
}

// Inbox implements journal.Store.
func (s *Store) Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error) {
	scan := func(row pgx.CollectableRow) (journal.Envelope, error) { return scanEnvelope(row) }
	return readAll(ctx, s, scan, "inbox of "+to.ID.String(),
		s.sql.inboxQuery(), int16(to.ID.Shard()), to.ID[:], int64(min(after, math.MaxInt64)), chainColumn(to.Chain))
}

// messagesQuery reads a page of an inbox.
func (st *statements) messagesQuery() string {
	return `SELECT ` + messageColumns + `, more FROM (
			SELECT next.*, lead(position) OVER page IS NOT NULL AS more, row_number() OVER page AS place, sum(bytes) OVER page AS total
			FROM (SELECT ` + messageColumns + ` FROM ` + st.inbox + ` WHERE shard = $1 AND id = $2 AND chain = $6 AND position > $3 AND parked IS NULL
				ORDER BY position LIMIT $4 + 1) AS next
			WINDOW page AS (ORDER BY position)
		) AS placed WHERE place = 1 OR place <= $4 AND total <= $5 ORDER BY position`
}

// Messages implements journal.Store. As with Entries, the page is cut by the server.
func (s *Store) Messages(ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit) (messages []journal.Message, more bool, err error) {
	room := limit.Room()
	count, bytes := room.Left()
	scan := func(row pgx.CollectableRow) (journal.Message, error) { return scanMessage(row, &more) }
	messages, err = readAll(ctx, s, scan, "messages to "+to.ID.String(), s.sql.messagesQuery(),
		int16(to.ID.Shard()), to.ID[:], int64(min(after, math.MaxInt64)), int64(count), int64(bytes), chainColumn(to.Chain))
	return messages, more, err
}

// Message implements journal.Store.
func (s *Store) Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error) {
	scan := func(row pgx.CollectableRow) (journal.Message, error) { return scanMessage(row) }
	return readOne(ctx, s, scan, "a message to "+to.ID.String(),
		`SELECT `+messageColumns+` FROM `+s.sql.inbox+` WHERE shard = $1 AND id = $2 AND chain = $4 AND position = $3 AND parked IS NULL`,
		int16(to.ID.Shard()), to.ID[:], int64(min(position, math.MaxInt64)), chainColumn(to.Chain))
}

// findQuery finds a message by its origin.
func (st *statements) findQuery() string {
	return `SELECT ` + envelopeColumns + `, parked FROM ` + st.inbox + ` WHERE shard = $1 AND id = $2 AND chain = $3 AND origin = $4`
}

// FindMessage implements journal.Store.
func (s *Store) FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (*journal.FoundMessage, error) {
	scan := func(row pgx.CollectableRow) (m journal.FoundMessage, err error) {
		var raw []byte
		if m.Envelope, err = scanEnvelope(row, &raw); err != nil || raw == nil {
			return m, err
		}
		parked, err := decode[journal.ParkedBody](raw)
		if err == nil {
			m.Parked = parked.Reason
		}
		return m, err
	}
	return readOne(ctx, s, scan, "a message to "+to.ID.String(), s.sql.findQuery(), int16(to.ID.Shard()), to.ID[:], chainColumn(to.Chain), origin[:])
}

// Receipt implements journal.Store.
func (s *Store) Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	scan := func(row pgx.CollectableRow) (journal.Receipt, error) {
		r := journal.Receipt{Origin: origin}
		var sender, run, step, raw []byte
		err := row.Scan(&r.At, &sender, &run, &step, &raw, &r.Value)
		if err != nil {
			return r, err
		}
		r.From = callerOf(sender, run, step)
		r.Error, err = decode[abi.Error](raw)
		return r, err
	}
	return readOne(ctx, s, scan, "a receipt of "+id.String(),
		`SELECT at, sender, sender_run, step, error, value FROM `+s.sql.receipts+` WHERE shard = $1 AND id = $2 AND origin = $3`,
		int16(id.Shard()), id[:], origin[:])
}

// MailReceivers implements journal.Store.
func (s *Store) MailReceivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanID, "receivers of mail", nil, s.sql.mailReceiversQuery(), int16(after.Shard()), after[:], max(limit, 0))
}

// mailReceiversQuery leaps from each receiver of mail to the next, so that a page does not read the mail behind it:
// the server makes no more rows than the limit asks for.
func (st *statements) mailReceiversQuery() string {
	return `WITH RECURSIVE receivers AS (
			(SELECT shard, id FROM ` + st.inbox + ` WHERE kind IN ('result', 'interrupt', 'terminate') AND (shard, id) > ($1, $2) ORDER BY shard, id LIMIT 1)
			UNION ALL
			SELECT n.* FROM receivers r CROSS JOIN LATERAL (SELECT i.shard, i.id FROM ` + st.inbox + ` i
				WHERE i.kind IN ('result', 'interrupt', 'terminate') AND (i.shard, i.id) > (r.shard, r.id) ORDER BY i.shard, i.id LIMIT 1) AS n)
		SELECT r.id FROM receivers r CROSS JOIN LATERAL (SELECT FROM ` + st.executions + ` e
			WHERE e.shard = r.shard AND e.id = r.id AND e.superseded = 0 * r.shard AND EXISTS (SELECT FROM ` + st.inbox + ` i
				WHERE i.shard = e.shard AND i.id = e.id AND i.kind IN ('result', 'interrupt', 'terminate') AND i.chain = coalesce(e.chain, e.run)
					AND (e.state = 'running' OR e.state = 'paused' AND i.kind <> 'result'))) AS waiting LIMIT $3`
}

// Receivers implements journal.Store.
func (s *Store) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	return sqlread.All(ctx, s.reader, sqlread.ScanID, "receivers", nil, s.sql.receiversQuery(), int16(after.Shard()), after[:], max(limit, 0))
}

// receiversQuery leaps from each entity with messages to the next, over all of its other messages, in an index that has none of
// executions: of those there may be millions that are over and have settled deferreds.
func (st *statements) receiversQuery() string {
	return `WITH RECURSIVE receivers AS (
			(SELECT shard, id FROM ` + st.inbox + ` WHERE chain = '' AND parked IS NULL AND (shard, id) > ($1, $2) ORDER BY shard, id LIMIT 1)
			UNION ALL
			SELECT n.* FROM receivers r CROSS JOIN LATERAL (SELECT i.shard, i.id FROM ` + st.inbox + ` i
				WHERE i.chain = '' AND i.parked IS NULL AND (i.shard, i.id) > (r.shard, r.id) ORDER BY i.shard, i.id LIMIT 1) AS n)
		SELECT id FROM receivers LIMIT $3`
}
