package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
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

// parkedPositions are the positions of the messages that a write parks.
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
