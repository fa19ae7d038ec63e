package postgres

import (
	"cmp"
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/journal"
)

// entryKey names an entry of a run.
type entryKey struct {
	run journal.RunID
	seq uint64
}

// commitDecided reads the rows that the writes depend on, decides about each, and commits the ones
// with an effect. Another commit may come between the reading and the writing; then a premise
// fails, and the caller tries again.
func (s *Store) commitDecided(
	ctx context.Context, conn *pgxpool.Conn, writes []*journal.Write,
) ([]journal.Result, error) {
	snap, err := s.readSnapshot(ctx, conn, writes)
	if err != nil {
		s.rollback(ctx, conn.Conn())
		return nil, beforeCommit("postgres: commit", asUnanswered(ctx, err))
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
	queueWrites(b, effective, decided, found)
	if err := s.sendWithCommit(ctx, conn.Conn(), b); err != nil {
		return nil, err
	}
	for i, write := range writes {
		if write.Receive != nil && outcomes[i] == (journal.Result{}) {
			outcomes[i].Position = found.mailed[mailKey{write.ReceivedBy(), write.Receive.Origin}]
		}
	}
	return outcomes, nil
}

// decide decides about a write: the zero Result says that it takes effect.
func (snap *snapshot) decide(write *journal.Write) journal.Result {
	if snap.fences[write.ID.Shard()] != write.Fence {
		return journal.Result{Err: journal.ErrFenced}
	}
	if write.OfEntity() {
		return snap.mail.decide(write)
	}
	if run, exists := snap.executions[write.ID]; exists && write.Start != nil &&
		!(run == write.Replace && snap.over[write.ID]) {
		return journal.Result{Existed: true}
	} else if write.Start == nil &&
		(!exists || run != write.Run || snap.chains[write.ID] != write.Receiver().Chain ||
			len(write.Entries) > 0 && snap.over[write.ID]) {
		return journal.Result{Err: journal.ErrNotFound}
	}
	if write.Start != nil && snap.used[write.Start.RunKey()] {
		return journal.Result{Err: journal.ErrSwept}
	}
	if r := write.Receive; r != nil && !write.Replace.IsZero() &&
		snap.mail.mailed[mailKey{journal.Receiver{ID: write.ID, Chain: snap.chains[write.ID]}, r.Origin}] {
		return journal.Result{Existed: true} // the run that it supersedes has not taken it
	}
	if write.Link != nil && snap.linked[linkKey{write.Run, write.Link.Step}] {
		return journal.Result{Existed: true}
	}
	if write.Link != nil && snap.chains[write.Link.Callee] != write.Link.Chain {
		return journal.Result{Err: journal.ErrSwept}
	}
	if r := write.Receive; r != nil && write.Start == nil && snap.over[write.ID] &&
		!snap.mail.knows(write.ReceivedBy(), r.Origin) {
		return journal.Result{Err: journal.ErrNotFound}
	}
	if result := snap.mail.decide(write); result != (journal.Result{}) {
		return result
	}
	own := map[uint64]bool{}
	for i := range write.Entries {
		seq := write.Entries[i].Seq
		if own[seq] || snap.entries[entryKey{write.Run, seq}] {
			return journal.Result{Err: errEntryTaken(write.ID, seq)}
		}
		own[seq] = true
	}
	return journal.Result{}
}

// apply records the effects of an effective write, and returns the remainder to be written.
func (snap *snapshot) apply(write *journal.Write) *journal.Write {
	if _, exists := snap.executions[write.ID]; write.Start != nil && !write.Replace.IsZero() && !exists {
		write = withoutReplace(write)
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
		snap.used[s.RunKey()] = true
		snap.chains[write.ID] = cmp.Or(s.Chain, s.Run)
	}
	if write.Link != nil {
		snap.linked[linkKey{write.Run, write.Link.Step}] = true
	}
	for i := range write.Entries {
		snap.entries[entryKey{write.Run, write.Entries[i].Seq}] = true
	}
	if write.Continue != nil {
		snap.executions[write.ID], snap.over[write.ID] = write.Continue.Run, false
	}
	return snap.mail.apply(write)
}

// withoutReplace is a start that finds no run to supersede.
func withoutReplace(write *journal.Write) *journal.Write {
	start := *write
	start.Replace = journal.RunID{}
	return &start
}
