package message

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Status is the progress of a message, by its records in the store. A message leaves the inbox in
// the commit that writes its receipt: a reader of the inbox first and the receipt then misses
// neither.
type Status int

const (
	// Unknown is a message that was not accepted, or whose receipt is not kept any more.
	Unknown Status = iota
	// Accepted is one in the inbox. A finished execution has not looked at it, or not answered it,
	// and will not.
	Accepted
	// Done is a message that has a receipt.
	Done
)

// StatusOf returns the status of the message of an origin, given the inbox and its receipt or nil.
func StatusOf(origin journal.Origin, inbox []journal.Envelope, receipt *journal.Receipt) Status {
	switch {
	case receipt != nil:
		return Done
	case slices.ContainsFunc(inbox, func(e journal.Envelope) bool { return e.Origin == origin }):
		return Accepted
	default:
		return Unknown
	}
}

// OutcomeOf is the answer to an update that has a receipt.
func OutcomeOf(receipt *journal.Receipt) abi.Outcome {
	return abi.Outcome{Value: receipt.Value, Error: receipt.Error}
}
