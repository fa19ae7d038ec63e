package execution

import (
	"bytes"
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/fault"
	"github.com/cruster/cruster/journal"
)

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
	r.Fault.Pass(fault.SettleBeforeCommit)
	res, err := r.Committer.Commit(journal.Write{ID: r.id, Settle: &d, Update: &u})
	if err != nil {
		return err
	}
	r.Fault.Pass(fault.SettleAfterCommit)
	if res.Existed {
		err := r.settledBefore(d.Name)
		r.reload(batch{}) // the store knows more than this run
		return err
	}
	r.row.WakeAt = u.WakeAt
	r.deferreds[d.Name] = d
	return nil
}

func sameSettlement(a, b journal.Deferred) bool {
	return a.At == b.At && bytes.Equal(a.Value, b.Value) && reflect.DeepEqual(a.Error, b.Error)
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
	if _, err := r.Committer.Commit(journal.Write{ID: r.id, Interrupt: &i, Update: &u}); err != nil {
		return err
	}
	r.row.WakeAt, r.row.Interrupt = u.WakeAt, &i
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
