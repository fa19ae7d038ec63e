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
// so.
func (e *Engine) Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error {
	if err := checkName("deferred", d.Name); err != nil {
		return abi.Errorf(abi.CodeBadRequest, "%s", err.Message)
	}
	if d.Error == nil {
		if err := checkPayload("the value", d.Value); err != nil {
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
	d.At = e.now().UnixNano()
	return e.ask(ctx, namespace, execution, func(reply chan<- error) event { return settleMail{d, reply} })
}

// Interrupt asks an execution to stop. It returns once the request is durable;
// the execution then runs its cleanup.
func (e *Engine) Interrupt(ctx context.Context, namespace, execution, reason string) error {
	if len(reason) > 4096 {
		return abi.Errorf(abi.CodeBadRequest, "the reason has %d bytes, the limit is 4096", len(reason))
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
	if _, ok := r.deferreds[d.Name]; ok {
		return r.settledBefore(d.Name)
	}
	if r.row.State.Final() {
		return r.alreadyOver()
	}
	u := r.sameRow()
	r.eng.fault(FaultSettleBeforeCommit)
	res, err := r.eng.commit(journal.Write{ID: r.id, Settle: &d, Update: &u})
	if errors.Is(err, journal.ErrUndecided) {
		res, err = r.lookUpSettled(d)
	}
	if err != nil {
		return storeError("settle "+d.Name, err)
	}
	r.eng.fault(FaultSettleAfterCommit)
	if res.Existed {
		return r.settledBefore(d.Name)
	}
	r.row.WakeAt = u.WakeAt
	r.deferreds[d.Name] = d
	return nil
}

// lookUpSettled finds out whether a settlement whose answer was lost took
// effect.
func (r *run) lookUpSettled(d journal.Deferred) (journal.Result, error) {
	settled, err := r.eng.store.Deferreds(r.eng.ctx, r.id)
	if err != nil {
		return journal.Result{}, err
	}
	for _, s := range settled {
		if s.Name == d.Name {
			mine := s.At == d.At && bytes.Equal(s.Value, d.Value) && reflect.DeepEqual(s.Error, d.Error)
			return journal.Result{Existed: !mine}, nil
		}
	}
	return journal.Result{}, journal.ErrUndecided
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
		return storeError("interrupt "+r.row.Name(), err)
	}
	r.row.WakeAt, r.row.Interrupt = u.WakeAt, &i
	return nil
}

// resumePaused lets a paused execution go on. It is loaded afresh: nothing of
// what stopped it is carried over.
func (r *run) resumePaused() error {
	if r.row.State != journal.Paused {
		return abi.Errorf(abi.CodeNotPaused, "%s is %s", r.row.Name(), r.row.State)
	}
	if _, err := r.eng.commit(journal.Write{ID: r.id, Update: &journal.Update{State: journal.Running, WakeAt: journal.Now}}); err != nil {
		return storeError("resume "+r.row.Name(), err)
	}
	r.log.Info("resumed")
	r.unload()
	r.crashes = 0
	r.wakeUp()
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
