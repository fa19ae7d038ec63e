package message

import (
	"github.com/cruster/cruster/journal"
)

// Signal is a message sent to a workflow under a name.
//
// # The life of a signal
//
// A signal that was delivered is in the guest, and the workflow may not have looked at it: no one waited for it when it
// came. The journal has it, for as long as the run lasts. So it stays in the inbox as well, held, until it is known
// that the workflow has looked at it:
//
//	accepted → delivered, and held → looked at: taken, with a receipt if it may be repeated
//
// Invariants:
//
//  1. A signal that was accepted is in the inbox until the workflow has looked at it. A signal that
//     it has not looked at when it continues as a new run is that run's, whatever its size.
//  2. An op that is to receive a signal and is open when a turn ends says that all signals of its
//     name delivered before it were looked at: a guest asks for the next when it has looked at the
//     one before. An outcome says it of all, except for signals that a continuing run names.
//  3. A held signal is given to no op, in this run. A replay does without it: the journal has the
//     deliveries.
//
// Mostly a workflow looks at a signal and asks for another in the turn that it is delivered with: that turn takes it,
// and nothing is ever held.
type Signal struct {
	Name string
	// Value is one msgpack value.
	Value []byte
	// Origin tells the signal from others, if its sender may repeat it: the same one is received once. Zero says that
	// it is not repeated.
	Origin journal.Origin
	// From is the step that sends it, if one does.
	From journal.Caller
}

// Message is the signal on its way to an execution, sent at a time, with an origin made for it
// unless it has one.
func (s Signal) Message(at int64, origin func() journal.Origin) journal.Message {
	m := journal.Message{
		Envelope: journal.Envelope{
			Kind:       journal.SignalMessage,
			Name:       s.Name,
			At:         at,
			Bytes:      len(s.Value),
			Origin:     s.Origin,
			From:       s.From,
			Repeatable: s.Origin != journal.Origin{},
		},
		Value: s.Value,
	}
	if !m.Repeatable {
		m.Origin = origin()
	}
	return m
}
