package host

import (
	"bytes"
	"context"
	"errors"
	"reflect"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Settle resolves (Value) or rejects (Error) a deferred of an execution, from
// outside or from another workflow. It returns once that is durable; if the
// deferred was settled before, the first settlement stands and the error says
// so. A settlement that names its time (At) may be repeated: the same one is not
// another.
func (e *Engine) Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error {
	if err := abi.CheckName("deferred", d.Name); err != nil {
		return abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	if d.Error == nil {
		if err := abi.CheckPayload("the value", d.Value); err != nil {
			return err
		}
		d.Value, _ = abi.Canonical(d.Value)
	} else {
		d.Value = nil
		clampError(d.Error)
		if d.Error.Code == "" {
			d.Error.Code = abi.CodeDeferredRejected
		}
	}
	if d.At == 0 {
		d.At = e.now().UnixNano()
	}
	return e.ask(ctx, namespace, execution, func(reply chan<- error) event { return settleMail{d, reply} })
}

// Interrupt asks an execution to stop. It returns once the request is durable;
// the execution then runs its cleanup.
func (e *Engine) Interrupt(ctx context.Context, namespace, execution, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	i := journal.Interrupt{At: e.now().UnixNano(), Reason: strings.ToValidUTF8(reason, "\uFFFD")}
	return e.ask(ctx, namespace, execution, func(reply chan<- error) event { return interruptMail{i, reply} })
}

// Resume lets a paused execution go on.
func (e *Engine) Resume(ctx context.Context, namespace, execution string) error {
	return e.ask(ctx, namespace, execution, func(reply chan<- error) event { return resumeMail{reply} })
}

// ask posts mail that is answered.
func (e *Engine) ask(ctx context.Context, namespace, execution string, mail func(reply chan<- error) event) error {
	if err := e.accepting(); err != nil {
		return err
	}
	id, err := executionID(namespace, execution)
	if err != nil {
		return err
	}
	if _, err := e.loadRow(ctx, id, execution); err != nil {
		return err
	}
	reply := make(chan error, 1)
	e.post(id, mail(reply))
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return storeError("ask "+execution, ctx.Err())
	case <-e.ctx.Done():
		return abi.Errorf(abi.CodeShuttingDown, "the host is shutting down")
	}
}

// settle makes a settlement durable. The row is marked to be loaded in the same
// commit, so that a crash right after it wakes the execution all the same.
func (r *run) settle(d journal.Deferred) error {
	if first, ok := r.deferreds[d.Name]; ok {
		if sameSettlement(first, d) {
			return nil
		}
		return r.settledBefore(d.Name)
	}
	if r.row.State.Final() {
		return r.alreadyOver()
	}
	u := r.sameRow()
	r.eng.fault(FaultSettleBeforeCommit)
	res, err := r.eng.commit(journal.Write{ID: r.id, Settle: &d, Update: &u})
	if err != nil {
		return err
	}
	r.eng.fault(FaultSettleAfterCommit)
	if res.Existed {
		err := r.settledBefore(d.Name)
		r.reload(batch{}) // it knows more than this run
		return err
	}
	r.row.WakeAt = u.WakeAt
	r.deferreds[d.Name] = d
	return nil
}

func sameSettlement(a, b journal.Deferred) bool {
	return a.At == b.At && bytes.Equal(a.Value, b.Value) && reflect.DeepEqual(a.Error, b.Error)
}

// answer tells whoever asked what became of it. If the answer to a commit was
// lost the run no longer knows its own row: it is loaded again, and then asked
// again. Each request sees from the row whether it has been done.
func (r *run) answer(ev event, reply chan<- error, doing string, err error) {
	switch {
	case err == nil:
		r.setbacks = 0
		reply <- nil
	case errors.Is(err, journal.ErrUndecided) && r.eng.ctx.Err() == nil:
		r.reload(batch{})
		r.setback(doing, err)
		r.unread([]event{ev})
	default:
		reply <- storeError(doing, err)
	}
}

// interrupt makes a request to stop durable.
func (r *run) interrupt(i journal.Interrupt) error {
	if r.row.State.Final() {
		return r.alreadyOver()
	}
	if r.row.Interrupt != nil {
		return nil
	}
	u := r.sameRow()
	if _, err := r.eng.commit(journal.Write{ID: r.id, Interrupt: &i, Update: &u}); err != nil {
		return err
	}
	r.row.WakeAt, r.row.Interrupt = u.WakeAt, &i
	return nil
}

// resumePaused lets a paused execution go on. It is loaded afresh: nothing of
// what stopped it is carried over.
func (r *run) resumePaused() error {
	if r.row.State != journal.Paused {
		return r.notPaused()
	}
	_, err := r.eng.commit(journal.Write{ID: r.id, Update: &journal.Update{State: journal.Running, WakeAt: journal.Now}})
	if errors.Is(err, journal.ErrUndecided) {
		// Nothing tells whether it goes on because of this request; but nobody
		// may miss it if it does.
		r.reload(batch{})
		return storeError("resume "+r.id.String(), err)
	}
	if err != nil {
		return err
	}
	r.log.Info("resumed")
	r.reload(batch{})
	r.crashes = 0
	return nil
}

// sameRow is an update that changes nothing but has a running execution loaded.
func (r *run) sameRow() journal.Update {
	u := journal.Update{State: r.row.State, WakeAt: r.row.WakeAt, Value: r.row.Value, Error: r.row.Error, FinishedAt: r.row.FinishedAt}
	if u.State == journal.Running {
		u.WakeAt = journal.Now
	}
	return u
}

func (r *run) alreadyOver() error {
	return abi.Errorf(abi.CodeAlreadyOver, "%s is %s", r.row.Name(), r.row.State)
}

func (r *run) settledBefore(name string) error {
	return abi.Errorf(abi.CodeDeferredSettled, "the deferred %q of %s was settled before", name, r.row.Name())
}
