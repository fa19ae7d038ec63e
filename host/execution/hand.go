package execution

import "slices"

// hand holds the notices that a run has taken out of its box and not handled yet.
type hand struct {
	unreceived []notice // not received yet
	waiting    []notice // received, to be handled once no number is reserved
	again      []notice // to be received again
	taken      []notice // that were waiting, and are handled now
}

// requeue has notices received again, behind others.
func (h *hand) requeue(notices ...notice) { h.again = append(h.again, notices...) }

// takeAgain hands over the notices to be received again.
func (h *hand) takeAgain() []notice {
	again := h.again
	h.again = nil
	return again
}

// takeWaiting hands over the waiting notices, in front of others.
func (h *hand) takeWaiting(before []notice) []notice {
	all := append(h.waiting, before...)
	h.taken, h.waiting = h.waiting, nil
	return all
}

// takeHandled hands over the notices that were handled: others behind the ones that had been waiting.
func (h *hand) takeHandled(others []notice) []notice {
	all := slices.Concat(h.taken, others)
	h.taken = nil
	return all
}

// all are the notices in hand, and others behind them.
func (h *hand) all(queued []notice) []notice {
	return slices.Concat(h.unreceived, h.again, h.waiting, queued)
}
