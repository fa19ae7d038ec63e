package execution

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// take takes in messages that came with the start.
func (r *run) take(messages []journal.Message) {
	for _, m := range messages {
		r.mail.received.Add(m)
		r.ledger.with(func(l *ledger.Ledger) { l.Arrived(m.Envelope) })
	}
}

// deliverInto puts the payload of a message into an entry.
func deliverInto(en *journal.Entry, m *journal.Message) error {
	if m.Kind != journal.ResultMessage {
		en.Value = message.Delivery(*m)
		return nil
	}
	var outcome abi.Outcome
	if err := abi.Unmarshal(m.Value, &outcome); err != nil {
		return fmt.Errorf("%w: the result of %s does not decode: %w", journal.ErrCorrupt, m.From.ID, err)
	}
	en.Value, en.Error = outcome.Value, outcome.Error
	return nil
}

// tellCallers tells callers of answers that are durable.
func (r *run) tellCallers(did ledger.Effects) {
	for _, a := range did.Answers {
		r.execs.Updates.Tell(a, r.id)
	}
}
