package batch

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/snapshot"
	"github.com/cruster/cruster/journal"
)

// Read performs an operation that changes nothing, against the state of a commit; nil loads the latest state,
// which is returned.
func (w *Worker) Read(c *call.Call, state *snapshot.Snapshot) (a call.Answer, loaded *snapshot.Snapshot) {
	err := fault.Guard(func() error {
		if state == nil {
			s, err := snapshot.Load(w.Host.Context(), w.Store, c.Ref.ID())
			if err != nil {
				return err
			}
			state, loaded = s, s
		}
		outcome, err := w.readState(c, state)
		a.Outcome = outcome
		return err
	})
	w.Faults.Report(c.Ref.ID(), err)
	if err != nil {
		a = call.Answer{Err: abi.AsError(journal.Coded("read "+c.Ref.String(), err))}
	}
	return a, loaded
}

func (w *Worker) readState(c *call.Call, s *snapshot.Snapshot) (abi.Outcome, error) {
	t, err := w.Targets.Find(w.Host.Context(), c.Ref)
	if err != nil {
		return abi.Outcome{}, err
	}
	if err := s.Readable(t); err != nil {
		return abi.Outcome{}, err
	}
	body := &abi.Operations{Operations: []abi.EntityCall{{Operation: c.Operation, Input: c.Input}}}
	body.State, body.Version = s.State()
	ran, err := w.Guests.Operations(w.Host.Context(), t, body)
	if err == nil {
		err = checkRead(ran)
	}
	switch {
	case err != nil && instance.IsOfGuest(err):
		w.Metrics.Crashes.Inc()
		return abi.Outcome{Error: instance.Crashed(c.Operation, err)}, nil
	case err != nil:
		return abi.Outcome{}, err
	}
	instance.WriteLog(w.Logger, c.Ref, ran.Log)
	return instance.OutcomeOf(&ran.Replies[0]), nil
}

// checkRead refuses effects that are reserved for operations that change the state.
func checkRead(ran *instance.Result) error {
	if len(ran.Replies) != 1 {
		return abi.Errorf(abi.CodeGuestProtocol, "the module answered %d operations instead of one", len(ran.Replies))
	}
	o := &ran.Replies[0]
	if len(o.Sent)+len(o.Started) > 0 {
		return abi.Errorf(abi.CodeWrongContext, "a read-only operation cannot send messages").WithHint(
			"Declare the operation without read-only.",
		)
	}
	if o.Error == nil {
		if err := abi.CheckPayload("the result", o.Value); err != nil {
			return err
		}
	}
	return nil
}
