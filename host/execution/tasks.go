package host

import (
	"context"
	"errors"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// performAll sets the host to work on every pending op that needs it and is
// not being worked on. It is called only when all that the guest saw before
// issuing them is durable. Sleeps, deferreds and interrupts need no work: see
// completeDue.
func (r *run) performAll() {
	if r.eng.draining.Load() {
		return
	}
	r.mu.Lock()
	var due []*op
	for _, o := range r.pending {
		if o.hostWork() && r.inflight[o.Number] == nil {
			due = append(due, o)
		}
	}
	r.mu.Unlock()
	for _, o := range due {
		r.perform(o)
	}
}

// perform does one op on a goroutine of its own.
func (r *run) perform(o *op) {
	ctx, cancel := context.WithCancel(r.eng.ctx)
	r.inflight[o.Number] = &work{cancel: cancel}
	// The goroutine gets copies: op and row belong to the run.
	number, row, body, at, failed := o.Number, *r.row, o.body, o.issuedAt, o.attempts
	started := r.eng.work.start(func() {
		switch b := body.(type) {
		case *abi.Activity:
			r.eng.performActivity(ctx, r, &row, o.Op, b, failed)
		case *abi.Call:
			r.eng.performCall(ctx, r, &row, o.Op, b)
		case *abi.Resolve:
			r.eng.performResolve(ctx, r, &row, number, at, b)
		case *abi.Poll:
			r.eng.performPoll(ctx, r, &row, number, b)
		}
	})
	if !started {
		cancel()
		delete(r.inflight, number)
	}
}

// abandonWork stops the work for ops that the guest has cancelled.
func (r *run) abandonWork(cancelled []uint32) {
	for _, number := range cancelled {
		r.endWork(number)
	}
}

// stopWork stops all work: the execution needs none any more.
func (r *run) stopWork() {
	for number := range r.inflight {
		r.endWork(number)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending = map[uint32]*op{}
	r.attempts, r.committed = nil, nil
	clear(r.salvaged)
}

// done posts the outcome of an op to its run.
func (e *Engine) done(id journal.ID, number uint32, outcome abi.Outcome) {
	e.post(id, doneMail{op: number, outcome: outcome})
}

// persist repeats do until it succeeds, fails for good, ctx ends or the engine
// drains: a failure of the store is not the outcome of an op. It reports whether
// there is an outcome.
func (e *Engine) persist(ctx context.Context, what string, do func() error) (*abi.Error, bool) {
	for delay := 20 * time.Millisecond; ; delay = min(2*delay, 5*time.Second) {
		err := do()
		if err == nil {
			return nil, true
		}
		if ctx.Err() != nil || e.draining.Load() {
			return nil, false
		}
		if coded := abi.AsError(err); !passing(coded) {
			return coded, true
		}
		e.log.Warn("trying again", "doing", what, "error", err, "delay", delay)
		wait(ctx, delay)
	}
}

// passing tells whether an error says something about the host at the moment
// rather than about the request.
func passing(err *abi.Error) bool {
	switch err.Code {
	case abi.CodeStore, abi.CodeOverloaded, abi.CodeDeadline, abi.CodeShuttingDown, abi.CodeFenced, abi.CodeInternal:
		return true
	default:
		return false
	}
}

// performResolve settles a deferred for a workflow. The answer is true if this
// settled it, false if it was settled before. After a crash it is asked again
// and must say the same, so the settlement bears a time that is this op's alone
// and by which it is known again.
func (e *Engine) performResolve(ctx context.Context, r *run, row *journal.Execution, number uint32, at int64, b *abi.Resolve) {
	name := b.Execution
	if name == "" {
		name = row.Name()
	}
	settled := true
	failure, ok := e.persist(ctx, "resolve a deferred", func() error {
		err := e.Settle(ctx, row.Namespace, name, journal.Deferred{Name: b.Name, Value: b.Value, Error: b.Error, At: at + int64(number)})
		if errors.Is(err, &abi.Error{Code: abi.CodeDeferredSettled}) {
			settled, err = false, nil
		}
		return err
	})
	if ok {
		e.done(r.id, number, outcomeOf(abi.MustMarshal(settled), failure))
	}
}

// performPoll looks at another execution for a workflow.
func (e *Engine) performPoll(ctx context.Context, r *run, row *journal.Execution, number uint32, b *abi.Poll) {
	var reply abi.PollReply
	failure, ok := e.persist(ctx, "poll an execution", func() error {
		other, err := e.Poll(ctx, row.Namespace, b.Execution)
		if err != nil {
			return err
		}
		reply = abi.PollReply{State: string(other.State)}
		if other.State.Final() {
			reply.Outcome = &abi.Outcome{Value: other.Value, Error: other.Error}
		}
		return nil
	})
	if ok {
		e.done(r.id, number, outcomeOf(abi.MustMarshal(&reply), failure))
	}
}

func outcomeOf(value []byte, failure *abi.Error) abi.Outcome {
	if failure != nil {
		return abi.Outcome{Error: failure}
	}
	return abi.Outcome{Value: value}
}
