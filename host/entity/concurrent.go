package entity

import (
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// beginConcurrent has reads, and calls of an entity without a state, performed: as many at the
// same time as the type says.
func (e *entity) beginConcurrent() {
	for i := 0; i < len(e.concurrent) && e.running < e.concurrency; {
		c := e.concurrent[i]
		if refused := e.refusedRead(c); refused != nil {
			e.concurrent = slices.Delete(e.concurrent, i, i+1)
			e.unqueue(c)
			e.end(c, map[*call]answer{c: {err: refused}}, nil)
			continue
		}
		if !e.mayBegin(c) {
			if c.kind == stateless && e.concurrency == 1 {
				return // one after the other, in their order
			}
			i++
			continue
		}
		e.concurrent = slices.Delete(e.concurrent, i, i+1)
		e.unqueue(c)
		c.beginWork()
		e.running++
		e.beginOne(c)
	}
}

// mayBegin reports whether the calls ahead of a call have got far enough: a read sees the messages
// that were acknowledged before it came, and other calls come behind them.
func (e *entity) mayBegin(c *call) bool {
	if c.attempts > 0 && e.reading.until != 0 {
		return false // it was not to blame, and is tried again later
	}
	if c.kind != read {
		return c.after <= e.seen
	}
	if e.holding.lock != nil || !e.holding.known {
		return e.holding.known && e.holding.mayPass(c)
	}
	for position := range e.positions {
		if position <= c.after {
			return false
		}
	}
	return c.after <= e.seen
}

// refusedRead says why a read is not performed: it was made in a section that does not hold the
// entity.
func (e *entity) refusedRead(c *call) error {
	if c.kind != read || !e.holding.known {
		return nil
	}
	return e.holding.allows(c)
}

func (e *entity) beginOne(c *call) {
	state, generation := e.state, e.generation
	places, task := e.entities.working, func() message { return e.entities.read(c, state, generation) }
	if c.kind == stateless {
		places, task = e.entities.calling, func() message { return e.entities.callStateless(c) }
	}
	if !e.begin(places, task) {
		e.endConcurrent(callDone{call: c, answer: answer{err: e.entities.Host.EndReason()}})
	}
}

// endConcurrent answers a call that ran concurrently.
func (e *entity) endConcurrent(m callDone) {
	e.running--
	e.barren = false
	if e.state == nil && m.loaded != nil && m.generation == e.generation {
		e.keep(m.loaded)
	}
	if m.unanswered && !e.entities.Host.Over() {
		m.call.atWork = false
		e.entities.metrics.queued.Inc()
		e.concurrent = slices.Insert(e.concurrent, 0, m.call)
		e.setback(&e.reading, "perform "+m.call.operation+" of "+m.call.ref.String(), m.answer.err)
		return
	}
	if m.answer.err == nil || m.answer.parked {
		e.reading.failures = 0
	}
	e.end(m.call, map[*call]answer{m.call: m.answer}, nil)
}

// read performs an operation that changes nothing, against the state of a commit.
func (x *Entities) read(c *call, state *snapshot, generation uint64) callDone {
	done := callDone{call: c, generation: generation}
	err := guarded(func() error {
		if state == nil {
			s, err := x.load(x.Host.Context(), c.ref.ID())
			if err != nil {
				return err
			}
			state, done.loaded = s, s
		}
		outcome, err := x.readState(c, state)
		done.answer.outcome = outcome
		return err
	})
	var fault *hostfault.Fault
	if errors.As(err, &fault) {
		x.report(c.ref.ID(), fault)
	}
	if err != nil {
		done.answer = answer{err: abi.AsError(journal.Coded("read "+c.ref.String(), err))}
	}
	return done
}

func (x *Entities) readState(c *call, s *snapshot) (abi.Outcome, error) {
	t, err := x.target(x.Host.Context(), c.ref)
	if err != nil {
		return abi.Outcome{}, err
	}
	if err := s.readable(t); err != nil {
		return abi.Outcome{}, err
	}
	body := &abi.Operations{Operations: []abi.EntityCall{{Operation: c.operation, Input: c.input}}}
	body.State, body.Version = s.state()
	ran, err := x.Guests.Operations(x.Host.Context(), t, body)
	if err == nil {
		err = checkRead(ran)
	}
	switch {
	case err != nil && isOfGuest(err):
		x.metrics.crashes.Inc()
		return abi.Outcome{Error: crashed(c, err)}, nil
	case err != nil:
		return abi.Outcome{}, err
	}
	x.writeLog(c.ref, ran.Log)
	return outcomeOf(&ran.Replies[0]), nil
}

// checkRead refuses what only an operation that changes the state may do.
func checkRead(ran *Ran) error {
	if len(ran.Replies) != 1 {
		return abi.Errorf(abi.CodeGuestProtocol, "the module answered %d operations instead of one", len(ran.Replies))
	}
	o := &ran.Replies[0]
	if len(o.Sent)+len(o.Started) > 0 {
		return abi.Errorf(abi.CodeWrongContext, "a read-only operation cannot send messages").WithHint("Declare the operation without read-only.")
	}
	if o.Error == nil {
		if err := abi.CheckPayload("the result", o.Value); err != nil {
			return err
		}
	}
	return nil
}
