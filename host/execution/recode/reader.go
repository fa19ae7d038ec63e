package recode

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// forkReader reads the state that forks take over.
type forkReader struct {
	rows  request.Rows
	store Store
}

// readInput reads the input of the source, with its result, and pays for them before that.
func (f forkReader) readInput(ctx context.Context, source *journal.Execution, memory *budget.Permit) ([]byte, error) {
	value := int64(source.LeftOut.Value)
	if err := growFor(memory, largevalue.InputCopies*int64(source.LeftOut.Input)+value); err != nil {
		return nil, err
	}
	whole, err := f.rows.Whole(ctx, source)
	if err != nil {
		return nil, err
	}
	memory.Shrink(value)
	return whole.Input, nil
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
