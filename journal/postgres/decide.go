package postgres

import (
	"cmp"
	"context"
	"maps"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// entryKey names an entry of an execution.
type entryKey struct {
	id  journal.ID
	seq uint64
}

// commitDecided reads what the writes depend on, decides about each, and commits
// those that take effect. Another commit may come between the reading and the
// writing; then a premise fails, and the caller tries again.
func (s *Store) commitDecided(ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write) ([]journal.Result, error) {
	snap, err := s.readSnapshot(ctx, conn, writes)
	if err != nil {
		s.rollback(ctx, conn.Conn())
		return nil, beforeCommit("postgres: commit", silent(ctx, err))
	}
	outcomes := make([]journal.Result, len(writes))
	var effective []*journal.Write
	for i, write := range writes {
		if outcomes[i] = snap.decide(write); outcomes[i] == (journal.Result{}) {
			effective = append(effective, snap.apply(write))
		}
	}
	if len(effective) == 0 {
		s.rollback(ctx, conn.Conn())
		return outcomes, nil
	}
	b := &pgx.Batch{}
	found := newAnswers()
	for _, part := range parts(effective) {
		p := newPlan(part, decided)
		if !part[0].Replace.IsZero() { // it is alone
			p.aside = snap.replaced[part[0].Run]
		}
		p.queue(b, found)
	}
	if err := s.sendWithCommit(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	for i, write := range writes {
		if write.Receive != nil && outcomes[i] == (journal.Result{}) {
			outcomes[i].Position = found.mailed[mailKey{write.ID, write.Receive.Origin}]
		}
	}
	return outcomes, nil
}

// decide tells what becomes of a write: the zero Result says that it takes effect.
func (snap *snapshot) decide(write *journal.Write) journal.Result {
	if snap.fences[write.ID.Shard()] != write.Fence {
		return journal.Result{Err: journal.ErrFenced}
	}
	if write.OfEntity() {
		return snap.mail.decide(write)
	}
	if run, exists := snap.executions[write.ID]; exists && write.Start != nil && !(run == write.Replace && snap.over[write.ID]) {
		return journal.Result{Existed: true}
	} else if write.Start == nil && (!exists || run != write.Run) {
		return journal.Result{Err: journal.ErrNotFound}
	}
	if write.Link != nil && snap.linked[linkKey{write.ID, write.Link.Step}] {
		return journal.Result{Existed: true}
	}
	if write.Link != nil && snap.chains[write.Link.Callee] != write.Link.Chain {
		return journal.Result{Err: journal.ErrSwept}
	}
	if write.Settle != nil && snap.settled[settlement{write.ID, write.Settle.Name}] {
		return journal.Result{Existed: true}
	}
	if result := snap.mail.decide(write); result != (journal.Result{}) {
		return result
	}
	own := map[uint64]bool{}
	for i := range write.Entries {
		seq := write.Entries[i].Seq
		if own[seq] || snap.entries[entryKey{write.ID, seq}] {
			return journal.Result{Err: errTaken(write.ID, seq)}
		}
		own[seq] = true
	}
	return journal.Result{}
}

// apply notes the effects of a write that takes effect, and leaves of it what is to be
// written.
func (snap *snapshot) apply(write *journal.Write) *journal.Write {
	if _, exists := snap.executions[write.ID]; exists && write.Start != nil {
		snap.setAside(write)
	}
	if !write.OfEntity() {
		snap.executions[write.ID] = write.Run
	}
	if write.Start != nil {
		snap.over[write.ID] = write.Start.State.Final()
	}
	if write.Update != nil {
		snap.over[write.ID] = write.Update.State.Final()
	}
	if s := write.Start; s != nil {
		snap.chains[write.ID] = cmp.Or(s.Chain, s.Run)
	}
	if write.Link != nil {
		snap.linked[linkKey{write.ID, write.Link.Step}] = true
	}
	for i := range write.Deferreds {
		snap.settled[settlement{write.ID, write.Deferreds[i].Name}] = true
	}
	for i := range write.Entries {
		snap.entries[entryKey{write.ID, write.Entries[i].Seq}] = true
	}
	if write.Settle != nil {
		snap.settled[settlement{write.ID, write.Settle.Name}] = true
	}
	if write.Continue != nil {
		snap.continueAs(write.ID, write.Continue.Run)
	}
	return snap.mail.apply(write)
}

// continueAs notes that another run has taken the place of the one there was.
func (snap *snapshot) continueAs(id journal.ID, next journal.RunID) {
	snap.executions[id], snap.over[id] = next, false
	snap.forget(id)
}

// forget forgets what is recorded of a run.
func (snap *snapshot) forget(id journal.ID) {
	maps.DeleteFunc(snap.entries, func(k entryKey, _ bool) bool { return k.id == id })
	maps.DeleteFunc(snap.settled, func(k settlement, _ bool) bool { return k.id == id })
	maps.DeleteFunc(snap.linked, func(k linkKey, _ bool) bool { return k.id == id })
}
