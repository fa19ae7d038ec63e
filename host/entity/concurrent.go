package entity

import "github.com/cruster/cruster/host/entity/call"

// beginConcurrent has reads, and calls of an entity without a state, performed: as many at the
// same time as the type says.
func (e *entity) beginConcurrent() {
	concurrency := e.mailbox.Limits().Concurrency
	for i := 0; i < len(e.mailbox.Concurrent()) && e.running < concurrency; {
		c := e.mailbox.Concurrent()[i]
		if refused := e.refusedRead(c); refused != nil {
			e.mailbox.TakeConcurrent(i)
			e.end(c, map[*call.Call]call.Answer{c: {Err: refused}}, nil)
			continue
		}
		if !e.mayBegin(c) {
			if c.Kind == call.Stateless && concurrency == 1 {
				return // one after the other, in their order
			}
			i++
			continue
		}
		e.mailbox.TakeConcurrent(i)
		c.BeginWork()
		e.running++
		e.beginOne(c)
	}
}

// mayBegin reports whether a call has its turn: nothing ahead of it, no lock and no pause is in its way.
func (e *entity) mayBegin(c *call.Call) bool {
	if c.Attempts > 0 && e.reading.until != 0 {
		return false // it was not to blame, and is tried again later
	}
	if c.Kind == call.Read && (e.holding.Lock() != nil || !e.holding.Known()) {
		return e.holding.Known() && e.holding.MayPass(c)
	}
	return e.mailbox.InTurn(c)
}

// refusedRead says why a read is not performed: it was made in a section that does not hold the
// entity.
func (e *entity) refusedRead(c *call.Call) error {
	if c.Kind != call.Read || !e.holding.Known() {
		return nil
	}
	return e.holding.Allows(c)
}

func (e *entity) beginOne(c *call.Call) {
	state, generation := e.state.Snapshot(), e.generation
	places, task := e.workers.working, func() message {
		a, loaded := e.workers.batches.Read(c, state)
		return callDone{call: c, answer: a, loaded: loaded, generation: generation}
	}
	if c.Kind == call.Stateless {
		places, task = e.workers.calling, func() message {
			a, unanswered := e.workers.calls.Perform(c)
			return callDone{call: c, answer: a, unanswered: unanswered}
		}
	}
	if !e.begin(places, task) {
		e.endConcurrent(callDone{call: c, answer: call.Answer{Err: e.workers.host.EndReason()}})
	}
}

// endConcurrent answers a call that ran concurrently.
func (e *entity) endConcurrent(m callDone) {
	e.running--
	e.mailbox.TaskEnded()
	if e.state.Snapshot() == nil && m.loaded != nil && m.generation == e.generation {
		e.state.Keep(m.loaded)
	}
	if m.unanswered && !e.workers.host.Over() {
		e.mailbox.PutBackConcurrent(m.call)
		e.retryLater("perform "+m.call.Operation+" of "+m.call.Ref.String(), m.answer.Err)
		return
	}
	if m.answer.Err == nil || m.answer.Parked {
		e.reading.failures = 0
	}
	e.end(m.call, map[*call.Call]call.Answer{m.call: m.answer}, nil)
}
