package recode

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Bounds of the state a fork takes over: it is written in one commit.
const (
	maxForkEntries = 20_000
	maxForkBytes   = 64 << 20
)

// beginning is the state a fork takes over.
type beginning struct {
	entries   []journal.Entry
	size      int                     // in bytes
	memory    *budget.Permit          // its memory
	later     map[journal.StepID]bool // the steps that come behind them
	end       uint64                  // the last of them, or a gap
	whole     bool                    // none do
	deferreds []journal.Message       // their settlements
	interrupt *journal.Interrupt
	fork      *message.Fork     // decides about signals
	signals   []journal.Message // that are taken over
}

// takeOver decides which settlements, and whether a request to stop, are taken over: all that were
// delivered by then, or had come by the time of the last entry. A fork of the whole journal takes
// over all of them.
func (b *beginning) takeOver(settled []journal.Settlement, interrupt *journal.Interrupt) (taken []journal.Settlement) {
	var until int64
	delivered := map[string]bool{}
	interrupted := false
	for _, en := range b.entries {
		until = max(until, en.At)
		delivered[en.Op.Name] = delivered[en.Op.Name] || en.Kind == journal.Delivery && en.Op.Kind == abi.OpDeferred
		interrupted = interrupted || en.Kind == journal.Delivery && en.Op.Kind == abi.OpInterrupted
	}
	for _, d := range settled {
		if b.whole || delivered[d.Name] || d.At <= until {
			taken = append(taken, d)
		}
	}
	if interrupt != nil && (b.whole || interrupted || interrupt.At <= until) {
		b.interrupt = interrupt
	}
	return taken
}

func forkTooLong() *abi.Error {
	return abi.Errorf(
		abi.CodeExecutionTooLong, "a fork takes over %d entries or %d MiB at most", maxForkEntries, maxForkBytes>>20,
	)
}

// take takes memory for so many bytes that the fork takes over. They are there twice: as they were read, and as they
// are written.
func (b *beginning) take(bytes int) error {
	if b.size += bytes; b.size > maxForkBytes {
		return forkTooLong()
	}
	return growFor(b.memory, 2*int64(bytes))
}

// growFor takes the memory that a fork needs.
func growFor(memory *budget.Permit, need int64) error {
	switch {
	case memory.Grow(need):
		return nil
	case memory.CouldGrow(need):
		return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for a fork")
	default:
		return abi.Errorf(abi.CodeExecutionTooLong, "the fork takes over more than the host has memory for").
			WithHint("Fork at an earlier entry, or start the host with a larger --memory.")
	}
}

// messagesTo are the signals and the settled deferreds on their way to the fork.
func (b *beginning) messagesTo(fork *journal.Execution) (sent []journal.Sent) {
	for _, m := range b.signals {
		sent = append(sent, journal.Sent{To: fork.ID, Message: m})
	}
	for i := range b.deferreds {
		sent = append(sent, b.deferreds[i].SettleTo(fork))
	}
	return sent
}
