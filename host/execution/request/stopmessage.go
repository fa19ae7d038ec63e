package request

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// StopMessage is a request to stop the runs of a chain.
func StopMessage(kind journal.MessageKind, chain journal.RunID, i journal.Interrupt) journal.Message {
	value := abi.MustMarshal(&i)
	return journal.Message{
		Envelope: journal.Envelope{Kind: kind, At: i.At, Bytes: len(value), Origin: journal.OriginToStop(chain, kind)},
		Value:    value,
	}
}

// InterruptIn decodes a request to stop.
func InterruptIn(m *journal.Message) (*journal.Interrupt, error) {
	var i journal.Interrupt
	if err := abi.Unmarshal(m.Value, &i); err != nil {
		return nil, fmt.Errorf("%w: a request to stop does not decode: %w", journal.ErrCorrupt, err)
	}
	return &i, nil
}
