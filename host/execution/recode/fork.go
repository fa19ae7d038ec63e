package recode

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Fork starts an execution that takes over the journal of another, up to an entry. Fork is the row
// of the new one; its run is its own, and so are the names of all its ops from there on. It has the
// random numbers, the clock and the memory of the source: only so does it come to the same point.
// It returns false if there is an execution of that name already.
//
// Input that had reached the source from outside by then is taken over with the journal, also if
// its code had not come to it yet: see [beginning.takeOver]. Later input is not: a user who forks a run from
// before a wrong decision wants to decide anew. Signals delivered to the source behind that entry
// came later; undelivered signals are taken over with the whole journal only: see signals.go.
// Updates are not taken over: they were sent to the source, and their senders hear from it. Values
// that the run had published by then are the fork's as well; values of earlier runs are not:
// nothing tells when a value was published.
func (c *Recoder) Fork(ctx context.Context, source, fork *journal.Execution, at uint64) (bool, error) {
	memory := c.Queued.Empty()
	defer memory.Release()
	reader := forkReader{rows: c.Rows, store: c.Store}
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
	trial, err := c.try(ctx, &target, part{entries: begun.entries, later: begun.later}, c.Open)
	if err != nil {
		return false, err
	}
	if trial.Misfit != nil {
		return false, trial.Misfit.For(fork.Name())
	}
	did, err := c.Effects(ctx, fork, trial)
	if err != nil {
		return false, err
	}
	fork.MovedAt = trial.End.Seq + 1
	fork.Waiting = journal.WaitingFor(fork.MovedAt, trial.Waiting)
	fork.Interrupt = begun.interrupt
	moved := journal.Entry{
		Kind: journal.Moved, Seq: fork.MovedAt, At: max(c.Clock.Now().UnixNano(), trial.End.At),
		Value: abi.MustMarshal(&journal.Move{
			Fork: source.Name(), From: source.Digest, To: fork.Digest, Declined: trial.Declined,
		}),
	}
	memory.Shrink(largevalue.InputCopies * int64(source.LeftOut.Input)) // the start pays for it
	c.Fault.Pass(faultpoint.ForkBeforeCommit)
	existed, err := c.Starter.StartWrite(ctx, journal.Write{
		ID: fork.ID, Run: fork.Run, Start: fork, Entries: append(begun.entries, moved), Publish: did.Publish,
		Send: begun.messagesTo(fork),
	})
	if err != nil || existed {
		return false, err
	}
	c.Fault.Pass(faultpoint.ForkAfterCommit)
	return true, nil
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
