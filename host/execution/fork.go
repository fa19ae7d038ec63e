package execution

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Bounds of what a fork takes over: it is written in one commit.
const (
	maxForkEntries = 20_000
	maxForkBytes   = 64 << 20
)

// Fork starts an execution that takes over the journal of another, up to an entry.
// Fork is the row of the new one; its run is its own, and so are the names of all
// that it does from there on. Its random numbers, its clock and its memory are those
// of the source: only so does it come to the same point. It returns false if there is
// an execution of that name already.
func (x *Executions) Fork(ctx context.Context, source, fork *journal.Execution, at uint64) (bool, error) {
	entries, later, err := x.splitJournal(ctx, source, at)
	if err != nil {
		return false, err
	}
	// The trial goes by what was read: the source may go on meanwhile.
	target := *fork
	target.Waiting = source.Waiting
	trial, err := x.try(ctx, &target, part{entries: entries, later: later}, x.OpenGuest)
	if err != nil {
		return false, err
	}
	if trial.Misfit != nil {
		return false, trial.Misfit.For(fork.Name())
	}
	fork.MovedAt = trial.end.Seq + 1
	fork.Waiting = journal.WaitingFor(fork.MovedAt, trial.waiting)
	entries = append(entries, journal.Entry{
		Kind: journal.Moved, Seq: fork.MovedAt, At: max(x.now(), trial.end.At),
		Value: abi.MustMarshal(&journal.Move{Fork: source.Name(), From: source.Digest, To: fork.Digest, Declined: trial.declined}),
	})
	x.Fault.Pass(faultpoint.ForkBeforeCommit)
	existed, err := x.start(ctx, fork, entries)
	if err != nil || existed {
		return false, err
	}
	x.Fault.Pass(faultpoint.ForkAfterCommit)
	return true, nil
}

// splitJournal reads the beginning of a journal, and which steps come later.
func (x *Executions) splitJournal(ctx context.Context, source *journal.Execution, at uint64) (entries []journal.Entry, later map[journal.StepID]bool, err error) {
	const page = 64
	later = map[journal.StepID]bool{}
	size, last := 0, uint64(0)
	for more := true; more; {
		next, err := x.Store.Entries(ctx, source.ID, last, page)
		if err != nil {
			return nil, nil, journal.Coded("read the journal of "+source.Name(), err)
		}
		more = len(next) == page
		for _, en := range next {
			last = en.Seq
			if en.Seq > at {
				later[en.Op.Step()] = true
				continue
			}
			if size += len(en.Value); len(entries) == maxForkEntries || size > maxForkBytes {
				return nil, nil, abi.Errorf(abi.CodeExecutionTooLong, "a fork takes over %d entries or %d MiB at most", maxForkEntries, maxForkBytes>>20)
			}
			entries = append(entries, en)
		}
	}
	if last < at {
		return nil, nil, abi.Errorf(abi.CodeBadRequest, "the journal of %s ends with entry %d, before %d", source.Name(), last, at)
	}
	return entries, later, nil
}
