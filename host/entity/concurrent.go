package entity

import (
	"slices"

	"github.com/cruster/cruster/host/entity/call"
)

// beginConcurrent has reads, and calls of an entity without a state, performed: as many at the
// same time as the type says.
func (e *entity) beginConcurrent() {
	for i := 0; i < len(e.concurrent) && e.running < e.concurrency; {
		c := e.concurrent[i]
		if refused := e.refusedRead(c); refused != nil {
			e.concurrent = slices.Delete(e.concurrent, i, i+1)
			e.unqueue(c)
			e.end(c, map[*call.Call]call.Answer{c: {Err: refused}}, nil)
			continue
		}
		if !e.mayBegin(c) {
			if c.Kind == call.Stateless && e.concurrency == 1 {
				return // one after the other, in their order
			}
			i++
			continue
		}
		e.concurrent = slices.Delete(e.concurrent, i, i+1)
		e.unqueue(c)
		c.BeginWork()
		e.running++
		e.beginOne(c)
	}
}

// mayBegin reports whether the calls ahead of a call have got far enough: a read sees the messages
// that were acknowledged before it came, and other calls come behind them.
func (e *entity) mayBegin(c *call.Call) bool {
	if c.Attempts > 0 && e.reading.until != 0 {
		return false // it was not to blame, and is tried again later
	}
	if c.Kind != call.Read {
		return c.After <= e.seen
	}
	if e.holding.Lock() != nil || !e.holding.Known() {
		return e.holding.Known() && e.holding.MayPass(c)
	}
	for position := range e.positions {
		if position <= c.After {
			return false
		}
	}
	return c.After <= e.seen
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
	places, task := e.entities.working, func() message {
		a, loaded := e.entities.batches.Read(c, state)
		return callDone{call: c, answer: a, loaded: loaded, generation: generation}
	}
	if c.Kind == call.Stateless {
		places, task = e.entities.calling, func() message {
			a, unanswered := e.entities.calls.Perform(c)
			return callDone{call: c, answer: a, unanswered: unanswered}
		}
	}
	if !e.begin(places, task) {
		e.endConcurrent(callDone{call: c, answer: call.Answer{Err: e.entities.Host.EndReason()}})
	}
}

// endConcurrent answers a call that ran concurrently.
func (e *entity) endConcurrent(m callDone) {
	e.running--
	e.barren = false
	if e.state.Snapshot() == nil && m.loaded != nil && m.generation == e.generation {
		e.state.Keep(m.loaded)
	}
	if m.unanswered && !e.entities.Host.Over() {
		m.call.AtWork = false
		e.entities.metrics.Queued.Inc()
		e.concurrent = slices.Insert(e.concurrent, 0, m.call)
		e.setback(&e.reading, "perform "+m.call.Operation+" of "+m.call.Ref.String(), m.answer.Err)
		return
	}
	if m.answer.Err == nil || m.answer.Parked {
		e.reading.failures = 0
	}
	e.end(m.call, map[*call.Call]call.Answer{m.call: m.answer}, nil)
}
