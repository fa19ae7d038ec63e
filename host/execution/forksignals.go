package execution

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Signals of a fork
//
// A fork has an inbox of its own. With the journal it takes over
//
//   - what was delivered in it: the last signal of each name is held, as it may not have been
//     looked at (see handed.go);
//   - what its first turn waits for: a run that continues another begins with signals that are
//     there for certain. They may have been delivered to the source behind the entries that are
//     taken over: then the journal has them, and otherwise the inbox;
//   - if all of the journal is taken over, what was not delivered. A part of a journal does not
//     tell what had come by its end: a signal that was delivered later may have waited for long.
//
// The copies are messages of their own: who repeats a signal to the source does not mean them.

// noteLater keeps a signal that the source began with, if this entry delivers it.
func (b *beginning) noteLater(source *journal.Execution, en journal.Entry) error {
	name, known := en.Op.Name, b.owed[en.Op.Name] != nil
	if !deliversSignal(en) || known || !slices.Contains(source.Pinned.Unread, name) || slices.ContainsFunc(b.entries, deliversSignalOf(name)) {
		return nil
	}
	b.owed[name] = en.Value
	return b.take(len(en.Value))
}

func deliversSignal(en journal.Entry) bool {
	return en.Kind == journal.Delivery && en.Op.Kind == abi.OpReceive && en.Error == nil
}

func deliversSignalOf(name string) func(journal.Entry) bool {
	return func(en journal.Entry) bool { return deliversSignal(en) && en.Op.Name == name }
}

// readSignals decides which signals are taken over.
func (x *Executions) readSignals(ctx context.Context, source *journal.Execution, b *beginning) error {
	last := map[string]journal.Entry{}
	for _, en := range b.entries {
		if deliversSignal(en) {
			last[en.Op.Name] = en
		}
	}
	for _, en := range b.entries {
		if deliversSignal(en) && last[en.Op.Name].Seq == en.Seq {
			b.addSignal(en.Op.Name, en.Value, en.At, true)
		}
	}
	inbox, err := x.undelivered(ctx, source, b)
	if err != nil {
		return err
	}
	for _, name := range source.Pinned.Unread {
		if value := b.owed[name]; value != nil {
			b.addSignal(name, value, source.Pinned.Time, false)
			inbox = slices.DeleteFunc(inbox, func(e journal.Envelope) bool { return e.Name == name }) // they came later
		}
	}
	for _, e := range inbox {
		if err := b.take(e.Bytes); err != nil {
			return err
		}
		m, err := x.Store.Message(ctx, source.ID, e.Position)
		if errors.Is(err, journal.ErrNotFound) {
			return abi.Errorf(abi.CodeOverloaded, "%s went on while it was read", source.Name())
		}
		if err != nil {
			return journal.Coded("read the signals of "+source.Name(), err)
		}
		b.addSignal(m.Name, m.Value, m.At, false)
	}
	if len(b.entries)+len(b.signals) > maxForkEntries {
		return forkTooLong()
	}
	// The fork begins when it has all that the source began with. One that was delivered while
	// the source was read is neither in what was read of its journal nor in its inbox.
	for _, name := range source.Pinned.Unread {
		if !slices.ContainsFunc(b.entries, deliversSignalOf(name)) && !slices.ContainsFunc(b.signals, func(s journal.Sent) bool { return s.Name == name }) {
			return abi.Errorf(abi.CodeOverloaded, "%s went on while it was read", source.Name())
		}
	}
	return nil
}

// undelivered lists signals in the inbox of the source: all of them for the whole journal, and
// otherwise the first of each name that the source began with and was not delivered.
func (x *Executions) undelivered(ctx context.Context, source *journal.Execution, b *beginning) (all []journal.Envelope, err error) {
	inbox, err := x.Store.Inbox(ctx, source.ID, 0)
	if err != nil {
		return nil, journal.Coded("read the signals of "+source.Name(), err)
	}
	if b.whole {
		// What was delivered since the journal was read is neither in it nor here.
		later, _, err := x.Store.Entries(ctx, source.ID, b.end, journal.PageLimit{Entries: 1})
		if err != nil {
			return nil, journal.Coded("read the journal of "+source.Name(), err)
		}
		b.whole = len(later) == 0
		for _, en := range later {
			b.later[en.Op.Step()] = true
		}
	}
	seen := map[string]bool{}
	for _, e := range inbox {
		if e.Kind != journal.SignalMessage || e.Held {
			continue
		}
		first := !seen[e.Name] && slices.Contains(source.Pinned.Unread, e.Name) && !slices.ContainsFunc(b.entries, deliversSignalOf(e.Name))
		if b.whole || first {
			all = append(all, e)
		}
		seen[e.Name] = true
	}
	return all, nil
}

// addSignal adds a signal for the fork.
func (b *beginning) addSignal(name string, value []byte, at int64, held bool) {
	e := journal.Envelope{Kind: journal.SignalMessage, Name: name, At: at, Bytes: len(value), Origin: journal.NewOrigin(), Held: held}
	b.signals = append(b.signals, journal.Sent{Message: journal.Message{Envelope: e, Value: value}})
}
