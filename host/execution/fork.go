package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Bounds of the state a fork takes over: it is written in one commit.
const (
	maxForkEntries = 20_000
	maxForkBytes   = 64 << 20
)

// Fork starts an execution that takes over the journal of another, up to an entry. Fork is the row
// of the new one; its run is its own, and so are the names of all its ops from there on. It has the
// random numbers, the clock and the memory of the source: only so does it come to the same point.
// It returns false if there is an execution of that name already.
//
// Input that had reached the source from outside by then is taken over with the journal, also if
// its code had not come to it yet: see takeOver. Later input is not: a user who forks a run from
// before a wrong decision wants to decide anew. Signals delivered to the source behind that entry
// came later; undelivered signals are taken over with the whole journal only: see forksignals.go.
// Updates are not taken over: they were sent to the source, and their senders hear from it. Values
// that the run had published by then are the fork's as well; values of earlier runs are not:
// nothing tells when a value was published.
func (c *Recoder) Fork(ctx context.Context, source, fork *journal.Execution, at uint64) (bool, error) {
	memory := c.deps.Queued.Empty()
	defer memory.Release()
	reader := forkReader{rows: c.rows, store: c.deps.Store}
	begun, err := reader.read(ctx, source, at, memory)
	if err != nil {
		return false, err
	}
	if fork.Input, err = reader.readInput(ctx, source, memory); err != nil {
		return false, err
	}
	if at == 0 {
		fork.Pinned.Unread = nil // it starts over with nothing but the input
	}
	// The trial goes by the row as read: the source may go on meanwhile.
	target := *fork
	target.Waiting = source.Waiting
	trial, err := c.try(ctx, &target, part{entries: begun.entries, later: begun.later}, c.deps.Programs.Open)
	if err != nil {
		return false, err
	}
	if trial.Misfit != nil {
		return false, trial.Misfit.For(fork.Name())
	}
	did, err := c.performReplayed(ctx, fork, trial.did)
	if err != nil {
		return false, err
	}
	fork.MovedAt = trial.end.Seq + 1
	fork.Waiting = journal.WaitingFor(fork.MovedAt, trial.waiting)
	fork.Interrupt = begun.interrupt
	moved := journal.Entry{
		Kind: journal.Moved, Seq: fork.MovedAt, At: max(c.deps.now(), trial.end.At),
		Value: abi.MustMarshal(&journal.Move{
			Fork: source.Name(), From: source.Digest, To: fork.Digest, Declined: trial.declined,
		}),
	}
	memory.Shrink(inputCopies * int64(source.LeftOut.Input)) // the start pays for it
	c.deps.Fault.Pass(faultpoint.ForkBeforeCommit)
	existed, err := c.starter.start(ctx, journal.Write{
		ID: fork.ID, Run: fork.Run, Start: fork, Entries: append(begun.entries, moved), Publish: did.Publish,
		Send: begun.messagesTo(fork),
	})
	if err != nil || existed {
		return false, err
	}
	c.deps.Fault.Pass(faultpoint.ForkAfterCommit)
	return true, nil
}

// forkReader reads the state that forks take over.
type forkReader struct {
	rows  request.Rows
	store Store
}

// readInput reads the input of the source, with its result, and pays for them before that.
func (f forkReader) readInput(ctx context.Context, source *journal.Execution, memory *budget.Permit) ([]byte, error) {
	value := int64(source.LeftOut.Value)
	if err := growFor(memory, inputCopies*int64(source.LeftOut.Input)+value); err != nil {
		return nil, err
	}
	whole, err := f.rows.Whole(ctx, source)
	if err != nil {
		return nil, err
	}
	memory.Shrink(value)
	return whole.Input, nil
}

// beginning is the state a fork takes over.
type beginning struct {
	entries   []journal.Entry
	size      int                     // in bytes
	memory    *budget.Permit          // its memory
	later     map[journal.StepID]bool // the steps that come behind them
	end       uint64                  // the last of them, or a gap
	whole     bool                    // none do
	deferreds []journal.Message       // their settlements
	interrupt *journal.Interrupt
	fork      *message.Fork     // decides about signals
	signals   []journal.Message // that are taken over
}

// read reads the beginning of an execution, up to an entry of its journal.
func (f forkReader) read(
	ctx context.Context, source *journal.Execution, at uint64, memory *budget.Permit,
) (*beginning, error) {
	b, err := f.splitJournal(ctx, source, at, memory)
	if err != nil {
		return nil, err
	}
	settled, err := journal.ListSettlements(ctx, f.store, source.Settlements())
	if err != nil {
		return nil, journal.Coded("read the deferreds of "+source.Name(), err)
	}
	now, err := f.rows.Reload(ctx, source)
	if err != nil {
		return nil, err
	}
	asked, err := f.rows.AskedToStop(ctx, now)
	if err != nil {
		return nil, err
	}
	if at > 0 {
		if err := f.readDeferreds(ctx, source, b, b.takeOver(settled, asked)); err != nil {
			return nil, err
		}
		if err := f.readSignals(ctx, source, b); err != nil {
			return nil, err
		}
	}
	// If the run is still there, nothing of it was purged while it was read.
	if _, err := f.rows.Reload(ctx, source); err != nil {
		return nil, err
	}
	return b, nil
}

// readDeferreds reads the settled deferreds that are taken over, unless they are too much.
func (f forkReader) readDeferreds(
	ctx context.Context, source *journal.Execution, b *beginning, taken []journal.Settlement,
) error {
	if len(b.entries)+len(taken) > maxForkEntries {
		return forkTooLong()
	}
	for _, s := range taken {
		if err := b.take(s.Bytes); err != nil {
			return err
		}
	}
	for _, s := range taken {
		d, err := f.store.Message(ctx, source.Settlements(), s.Position)
		if err != nil {
			return journal.Coded("read the deferreds of "+source.Name(), err)
		}
		b.deferreds = append(b.deferreds, *d)
	}
	return nil
}

// takeOver decides which settlements, and whether a request to stop, are taken over: all that were
// delivered by then, or had come by the time of the last entry. A fork of the whole journal takes
// over all of them.
func (b *beginning) takeOver(settled []journal.Settlement, interrupt *journal.Interrupt) (taken []journal.Settlement) {
	var until int64
	delivered := map[string]bool{}
	interrupted := false
	for _, en := range b.entries {
		until = max(until, en.At)
		delivered[en.Op.Name] = delivered[en.Op.Name] || en.Kind == journal.Delivery && en.Op.Kind == abi.OpDeferred
		interrupted = interrupted || en.Kind == journal.Delivery && en.Op.Kind == abi.OpInterrupted
	}
	for _, d := range settled {
		if b.whole || delivered[d.Name] || d.At <= until {
			taken = append(taken, d)
		}
	}
	if interrupt != nil && (b.whole || interrupted || interrupt.At <= until) {
		b.interrupt = interrupt
	}
	return taken
}

func forkTooLong() *abi.Error {
	return abi.Errorf(
		abi.CodeExecutionTooLong, "a fork takes over %d entries or %d MiB at most", maxForkEntries, maxForkBytes>>20,
	)
}

// take takes memory for so many bytes that the fork takes over. They are there twice: as they were read, and as they
// are written.
func (b *beginning) take(bytes int) error {
	if b.size += bytes; b.size > maxForkBytes {
		return forkTooLong()
	}
	return growFor(b.memory, 2*int64(bytes))
}

// growFor takes the memory that a fork needs.
func growFor(memory *budget.Permit, need int64) error {
	switch {
	case memory.Grow(need):
		return nil
	case memory.CouldGrow(need):
		return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for a fork")
	default:
		return abi.Errorf(abi.CodeExecutionTooLong, "the fork takes over more than the host has memory for").
			WithHint("Fork at an earlier entry, or start the host with a larger --memory.")
	}
}

// splitJournal reads the beginning of a journal, and which steps come later.
func (f forkReader) splitJournal(
	ctx context.Context, source *journal.Execution, at uint64, memory *budget.Permit,
) (*beginning, error) {
	b := &beginning{later: map[journal.StepID]bool{}, fork: message.NewFork(source.Pinned.Unread), memory: memory}
	last := uint64(0)
	for en, err := range journal.Scan(ctx, f.store, source.RunKey()) {
		var damaged *journal.DamagedEntry
		if errors.As(err, &damaged) && damaged.Seq > at {
			last = damaged.Seq
			break // later ones cannot be known
		}
		if err != nil {
			return nil, journal.Coded("read the journal of "+source.Name(), err)
		}
		last = en.Seq
		if en.Seq > at {
			b.later[en.Op.Step()] = true
			if b.fork.Later(en) {
				if err := b.take(len(en.Value)); err != nil {
					return nil, err
				}
			}
			continue
		}
		if len(b.entries) == maxForkEntries {
			return nil, forkTooLong()
		}
		if err := b.take((&journal.Write{Entries: []journal.Entry{en}}).Size()); err != nil {
			return nil, err
		}
		b.entries = append(b.entries, en)
		b.fork.Has(en)
	}
	if last < at {
		return nil, abi.Errorf(
			abi.CodeBadRequest, "the journal of %s ends with entry %d, before %d", source.Name(), last, at,
		)
	}
	b.whole, b.end = last == at, at
	return b, nil
}
