package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// parkRows are messages to be parked.
type parkRows struct {
	takeRows
	bodies                   [][]byte
	namespaces, types, names []string
}

func (r *parkRows) add(to journal.Receiver, p *journal.Parked) {
	r.takeRows.add(to, p.Position)
	r.bodies = append(r.bodies, abi.MustMarshal(p.Body()))
	r.namespaces, r.types, r.names = append(r.namespaces, p.Namespace), append(r.types, p.Type), append(r.names, p.Key)
}

func (r *parkRows) queue(b *pgx.Batch) {
	b.Queue(stmtPark, r.shards, r.ids, r.chains, r.positions, r.bodies, r.namespaces, r.types, r.names, r.len())
}

// parkedPositions are those of the messages that a write parks.
func parkedPositions(w *journal.Write) []uint64 {
	positions := make([]uint64, len(w.Park))
	for i := range w.Park {
		positions[i] = w.Park[i].Position
	}
	return positions
}

// unpark notes that a write puts parked messages back.
func (m *mailboxes) unpark(w *journal.Write) {
	for _, position := range w.Unpark {
		m.move(place{w.Receiver(), position}, m.parked, m.messages, m.aside, m.tallies)
	}
}

// park notes that a write parks messages.
func (m *mailboxes) park(w *journal.Write) {
	for i := range w.Park {
		m.move(place{w.Receiver(), w.Park[i].Position}, m.messages, m.parked, m.tallies, m.aside)
	}
}

func (m *mailboxes) move(at place, from, to map[place]message, less, more map[journal.Receiver]tally) {
	moved := from[at]
	delete(from, at)
	to[at] = moved
	l := less[at.to]
	less[at.to] = tally{l.messages - 1, l.bytes - moved.bytes}
	more[at.to] = more[at.to].plus(int(moved.bytes))
}

func scanParked(row pgx.CollectableRow) (m journal.ParkedMessage, err error) {
	var raw []byte
	if m.Message, err = scanEnvelope(row, (*sqlread.ID)(&m.Entity), &m.Namespace, &m.Type, &m.Key, &raw); err != nil {
		return m, err
	}
	m.Position = m.Message.Position
	body, err := decode[journal.ParkedBody](raw)
	if err != nil {
		return m, err
	}
	m.SetBody(body)
	return m, nil
}

// Parked implements journal.Store.
func (s *Store) Parked(ctx context.Context, f journal.ParkedFilter) ([]journal.ParkedMessage, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	place := f.Place()
	if !f.Entity.IsZero() {
		return readAll(ctx, s, scanParked, "parked messages", s.sql.parkedOfEntityQuery(), int16(f.Entity.Shard()), f.Entity[:], int64(place.Position), limit)
	}
	for _, v := range []string{f.Namespace, f.Type, place.Namespace, place.Type, place.Key} {
		if !isText(v) {
			return nil, abi.Errorf(abi.CodeBadRequest, "%q is not text", v)
		}
	}
	if f.Namespace != "" && place.Namespace != f.Namespace {
		return nil, nil
	}
	query, bound := s.sql.parkedQuery(&f)
	return readAll(ctx, s, scanParked, "parked messages", query, place.Namespace, place.Type, place.Key, int64(place.Position), bound, f.Type, limit)
}

// parkedOfEntityQuery lists those of one entity. In their order the planner would walk through the inbox.
func (st *statements) parkedOfEntityQuery() string {
	return `SELECT * FROM (SELECT ` + envelopeColumns + `, id, namespace, type, key, parked FROM ` + st.inbox + `
		WHERE shard = $1 AND id = $2 AND parked IS NOT NULL OFFSET 0) AS i WHERE position > $3 ORDER BY position LIMIT $4`
}

// parkedQuery lists what is behind a place: of one namespace or of all.
func (st *statements) parkedQuery(f *journal.ParkedFilter) (query, bound string) {
	behind := `namespace = $1 AND (type, key, position) > ($2, $3, $4)`
	if f.Namespace == "" {
		behind = `(namespace, type, key, position) > ($1, $2, $3, $4)`
	}
	operator, bound := f.Bound()
	return `SELECT ` + envelopeColumns + `, id, namespace, type, key, parked FROM ` + st.inbox + ` WHERE parked IS NOT NULL AND ` + behind + `
		AND type ` + operator + ` $5 AND type >= $6 ORDER BY namespace, type, key, position LIMIT $7`, bound
}
