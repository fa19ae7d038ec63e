package message

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Fork decides which signals a fork of an execution takes over.
//
// A fork has an inbox of its own. With the journal it takes over
//
//   - signals delivered in it: the last signal of each name is held, as it may not have been looked
//     at (see [Signal]);
//   - the wait of its first turn: a run that continues another begins with signals that are there
//     for certain. They may have been delivered to the source behind the entries that are taken
//     over: then the journal has them, and otherwise the inbox;
//   - if all of the journal is taken over, undelivered signals. A part of a journal does not tell
//     which had come by its end: a signal that was delivered later may have waited for long.
//
// The copies are messages of their own: a repeat of a signal to the source does not concern them.
type Fork struct {
	began     []string                 // the names of signals that the source began with
	delivered map[string]journal.Entry // the last one of each name delivered in the copied part
	missing   map[string][]byte        // initial signals of the source, delivered behind that
}

// NewFork makes one of a source that began with signals of some names. It is told of the entries
// of the journal next, in order.
func NewFork(began []string) *Fork {
	return &Fork{began: began, delivered: map[string]journal.Entry{}, missing: map[string][]byte{}}
}

func deliversSignal(en journal.Entry) bool {
	return en.Kind == journal.Delivery && en.Op.Kind == abi.OpReceive && en.Error == nil
}

// Has takes note of an entry that the fork takes over.
func (f *Fork) Has(en journal.Entry) {
	if deliversSignal(en) {
		f.delivered[en.Op.Name] = en
	}
}

// Later takes note of an entry that it does not take over. It reports whether the value of the
// entry is kept.
func (f *Fork) Later(en journal.Entry) bool {
	name := en.Op.Name
	if !deliversSignal(en) || f.missing[name] != nil || !f.lacks(name) {
		return false
	}
	f.missing[name] = en.Value
	return true
}

// lacks tells whether the source began with a signal that the entries do not have.
func (f *Fork) lacks(name string) bool {
	_, has := f.delivered[name]
	return !has && slices.Contains(f.began, name)
}

// FromJournal copies the signals of the journal: signals delivered in the copied part, held, and
// signals that the source began with, at a time, and was delivered later.
func (f *Fork) FromJournal(began int64, origin func() journal.Origin) (copies []journal.Message) {
	bySeq := func(a, b journal.Entry) int { return cmp.Compare(a.Seq, b.Seq) }
	for _, en := range slices.SortedFunc(maps.Values(f.delivered), bySeq) {
		m := Copy(en.Op.Name, en.Value, en.At, origin())
		m.Held = true
		copies = append(copies, m)
	}
	for _, name := range f.began {
		if value := f.missing[name]; value != nil {
			copies = append(copies, Copy(name, value, began, origin()))
		}
	}
	return copies
}

// FromInbox lists the signals in the inbox of the source that are taken over: all undelivered ones
// if the whole journal is, and otherwise the first of each name that the source began with and was
// not delivered.
func (f *Fork) FromInbox(inbox []journal.Envelope, whole bool) (taken []journal.Envelope) {
	seen := map[string]bool{}
	for _, e := range inbox {
		if e.Kind != journal.SignalMessage || e.Held {
			continue
		}
		first := !seen[e.Name] && f.lacks(e.Name)
		seen[e.Name] = true
		// the others came later than the missing one
		if missing := f.missing[e.Name] != nil; !missing && (whole || first) {
			taken = append(taken, e)
		}
	}
	return taken
}

// Complete tells whether the fork can begin: it has all that the source began with. A signal that
// was delivered while the source was read is neither in the journal as read nor in its inbox.
func (f *Fork) Complete(copies []journal.Message) bool {
	return !slices.ContainsFunc(f.began, func(name string) bool {
		return f.lacks(name) && !slices.ContainsFunc(copies, func(m journal.Message) bool { return m.Name == name })
	})
}

// Copy is a signal for a fork.
func Copy(name string, value []byte, at int64, origin journal.Origin) journal.Message {
	e := journal.Envelope{Kind: journal.SignalMessage, Name: name, At: at, Bytes: len(value), Origin: origin}
	return journal.Message{Envelope: e, Value: value}
}
