package crustertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// Update sends an update to the execution before its first step, and hands the answer to fn, or
// the error that its sender would see.
func Update[In, Out any](u cruster.UpdateOf[In, Out], in In, fn func(Out, error)) Option {
	send := sendUpdate(u, in, fn)
	return func(c *config) { c.early = append(c.early, send) }
}

// UpdateAfter sends an update to the execution at a virtual time after its start, and hands the answer to fn when it is
// there. An update that the workflow refuses ([cruster.ValidatedUpdate]) is not sent. A host asks a copy of the
// workflow for that; here it is asked itself, so that the function that validates must not change it.
func UpdateAfter[In, Out any](d time.Duration, u cruster.UpdateOf[In, Out], in In, fn func(Out, error)) Option {
	return outside(d, sendUpdate(u, in, fn))
}

func sendUpdate[In, Out any](u cruster.UpdateOf[In, Out], in In, fn func(Out, error)) func(*run) {
	body, err := abi.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("crustertest: the input of update %s: %v", u.Name(), err))
	}
	return func(r *run) {
		r.update(u.Name(), body, func(value []byte, failure *abi.Error) {
			var out Out
			if failure != nil {
				fn(out, failure)
				return
			}
			fn(out, abi.Unmarshal(value, &out))
		})
	}
}

// updates are the unanswered updates of an execution.
type updates struct {
	// open are in the order in which they were sent; the first delivered of them were handed to the run.
	open      []*openUpdate
	delivered int
	// op is the op waiting for the next update; 0 if there is none.
	op   uint32
	sent int
}

type openUpdate struct {
	request abi.UpdateRequest
	answer  func([]byte, *abi.Error)
}

// update sends an update, or refuses it as a host does.
func (r *run) update(name string, input []byte, answer func([]byte, *abi.Error)) {
	input, err := r.checkUpdate(name, input)
	if err != nil {
		answer(nil, abi.AsError(err))
		return
	}
	r.updates.sent++
	r.updates.open = append(r.updates.open, &openUpdate{
		request: abi.UpdateRequest{ID: fmt.Sprintf("%032x", r.updates.sent), Input: input, Name: name}, answer: answer,
	})
	r.deliverUpdate()
}

func (r *run) checkUpdate(name string, input []byte) ([]byte, error) {
	wf, ok := r.module.Workflow(r.workflow)
	if !ok || r.outcome != nil {
		return nil, abi.Errorf(abi.CodeAlreadyOver, "%s is %s", r.id, r.state())
	}
	info, err := wf.UpdateInfo(name)
	if err != nil {
		return nil, err
	}
	if input, err = info.CheckInput(input); err != nil {
		return nil, err
	}
	if ex := r.live(); info.Validated && ex != nil {
		if out := r.ask(ex, abi.Query{Input: input, Name: name, Update: true}); out.Error != nil {
			return nil, out.Error
		}
	}
	return input, nil
}

// takeUpdate has an op wait for the next update.
func (r *run) takeUpdate(op uint32) {
	r.updates.op = op
	r.deliverUpdate()
}

// deliverUpdate hands over the next update, if there is one and an op waits for it.
func (r *run) deliverUpdate() {
	u := &r.updates
	if u.op == 0 || u.delivered == len(u.open) {
		return
	}
	op := u.op
	u.op = 0
	r.deliver(0, op, abi.Delivery{Value: abi.MustMarshal(u.open[u.delivered].request)})
	u.delivered++
}

// answer answers an update. An answered update stays as it is.
func (r *run) answer(a *abi.Answer) {
	u := &r.updates
	i := slices.IndexFunc(u.open, func(o *openUpdate) bool { return o.request.ID == a.ID })
	if i < 0 || i >= u.delivered {
		return
	}
	o := u.open[i]
	u.open = slices.Delete(u.open, i, i+1)
	u.delivered--
	r.world.soon(func() { o.answer(a.Value, a.Error) })
}

// refuse answers the updates that the execution left unanswered when it ended.
func (u *updates) refuse(execution string) {
	open := u.open
	u.open, u.delivered, u.op = nil, 0, 0
	for _, o := range open {
		o.answer(
			nil,
			abi.Errorf(
				abi.CodeUpdateUnanswered, "%s ended before it answered the update %s", execution, o.request.Name,
			),
		)
	}
}

// next are the updates of the run that takes the place of this one: it is handed all of them.
func (u *updates) next() updates { return updates{open: u.open, sent: u.sent} }
