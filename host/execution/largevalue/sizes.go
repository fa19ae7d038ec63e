package largevalue

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

const (
	// MaxInHand bounds the values that a run has in memory because it was just told them. Smaller values are not paid
	// for.
	MaxInHand = 64 << 10
	// KeptInput is the size up to which the input of a start is not paid for.
	KeptInput = 64 << 10
	// InputCopies is how often an input is in memory while a guest is given it.
	InputCopies = 2
	// DeliveryCopies is how often a delivered value is in memory: as it was read, as it is handed over, and in the
	// write of the turn.
	DeliveryCopies = 3
	// GuestCopies is about how often a guest has a large input while it decodes it.
	GuestCopies = 4
	// PageCost bounds a page of a journal.
	PageCost = 2 * abi.MaxPayload
)

// Bytes is the size of the values of entries.
func Bytes(entries []journal.Entry) (bytes int64) {
	for i := range entries {
		bytes += op.Bytes(entries[i].Value, entries[i].Error)
	}
	return bytes
}
