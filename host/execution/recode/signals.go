package recode

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// readSignals reads the signals that a fork takes over: see [message.Fork].
func (f forkReader) readSignals(ctx context.Context, source *journal.Execution, b *beginning) error {
	b.signals = b.fork.FromJournal(source.Pinned.Time, journal.NewOrigin)
	undelivered, err := f.undelivered(ctx, source, b)
	if err != nil {
		return err
	}
	for _, e := range undelivered {
		if err := b.take(e.Bytes); err != nil {
			return err
		}
		m, err := f.store.Message(ctx, source.Receiver(), e.Position)
		if errors.Is(err, journal.ErrNotFound) {
			return wentOn(source)
		}
		if err != nil {
			return journal.Coded("read the signals of "+source.Name(), err)
		}
		b.signals = append(b.signals, message.Copy(m.Name, m.Value, m.At, journal.NewOrigin()))
	}
	if len(b.entries)+len(b.signals) > maxForkEntries {
		return forkTooLong()
	}
	if !b.fork.Complete(b.signals) {
		return wentOn(source)
	}
	return nil
}

func wentOn(source *journal.Execution) error {
	return abi.Errorf(abi.CodeOverloaded, "%s went on while it was read", source.Name())
}

// undelivered lists the signals in the inbox of the source that are taken over.
func (f forkReader) undelivered(
	ctx context.Context, source *journal.Execution, b *beginning,
) ([]journal.Envelope, error) {
	inbox, err := f.store.Inbox(ctx, source.Receiver(), 0)
	if err != nil {
		return nil, journal.Coded("read the signals of "+source.Name(), err)
	}
	if b.whole {
		// Messages delivered since the journal was read are neither in it nor here.
		later, _, err := f.store.Entries(ctx, source.RunKey(), b.end, journal.PageLimit{Entries: 1})
		if err != nil {
			return nil, journal.Coded("read the journal of "+source.Name(), err)
		}
		b.whole = len(later) == 0
		for _, en := range later {
			b.later[en.Op.Step()] = true
		}
	}
	return b.fork.FromInbox(inbox, b.whole), nil
}
