package guest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Update is an update that a workflow takes.
type Update struct {
	Name   string
	Input  reflect.Type
	Output reflect.Type
	// Validated says that the workflow can tell beforehand whether it would refuse one.
	Validated bool
}

// UpdateOps are the ops by which updates arrive and are answered.
type UpdateOps struct{ Update, Answer *Call }

// UpdateHandler is a workflow's handler of an update.
type UpdateHandler struct {
	// Validate says why an input is refused; nil if the update is not validated.
	Validate func(input []byte) error
	// Run performs the update, in a coroutine of its own; input and answer are msgpack.
	Run func(s Scope, input []byte) ([]byte, error)
}

// Take registers updates of a workflow. It panics if the workflow has one of that name.
func (w *Workflow) Take(ops UpdateOps, updates ...Update) {
	w.UpdateOps = ops
	for _, u := range updates {
		if _, ok := w.update(u.Name); ok {
			panic(fmt.Sprintf("cruster: workflow %s takes update %q twice", w.Name, u.Name))
		}
		w.Updates = append(w.Updates, u)
	}
}

func (w *Workflow) update(name string) (Update, bool) {
	if i := slices.IndexFunc(w.Updates, func(u Update) bool { return u.Name == name }); i >= 0 {
		return w.Updates[i], true
	}
	return Update{}, false
}

// updateInfo describes the updates of a workflow, sorted by name.
func (w *Workflow) updateInfo() []abi.UpdateInfo {
	if len(w.Updates) == 0 {
		return nil
	}
	all := make([]abi.UpdateInfo, 0, len(w.Updates))
	for _, u := range w.Updates {
		CheckTypes(fmt.Sprintf("update %q", u.Name), u.Input, u.Output)
		all = append(all, abi.UpdateInfo{
			Input: SchemaOf(u.Input), Name: u.Name, Output: SchemaOf(u.Output), Validated: u.Validated,
		})
	}
	slices.SortFunc(all, func(a, b abi.UpdateInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// UpdateInfo describes an update of the workflow.
func (w *Workflow) UpdateInfo(name string) (*abi.UpdateInfo, error) {
	return (&abi.WorkflowInfo{Name: w.Name, Updates: w.updateInfo()}).Update(name)
}

// updateQueue is where updates arrive.
//
// An update that was delivered is the workflow's to answer. There is one op at a time that takes
// the next of them, from the start of the workflow to its end, and it is never cancelled. Each
// update runs in a coroutine of its own, in the order in which they came; updates without a handler
// yet wait for it.
type updateQueue struct {
	handlers map[string]UpdateHandler
	waiting  []abi.UpdateRequest
}

// takeUpdates begins to take updates.
func (ex *Execution) takeUpdates() *abi.Error {
	ex.updates = &updateQueue{handlers: map[string]UpdateHandler{}}
	return ex.askForUpdate()
}

// updatesWake tells whether an update could make a coroutine go on that waits: its handler may
// change variables, and nothing but a condition depends on them. One without a handler waits for
// the workflow, which would have to come to the place that sets it.
func (ex *Execution) updatesWake() bool {
	return len(ex.updates.handlers) > 0 && len(ex.conditions) > 0
}

// askForUpdate has the host deliver the next update.
func (ex *Execution) askForUpdate() *abi.Error {
	op, refused := ex.host.Issue(ex.workflow.UpdateOps.Update, EncodeBody(abi.Update{}))
	if refused != nil {
		return refused
	}
	arrival := &Promise{ex: ex, what: Label{"update", ""}, op: op}
	arrival.onSettle = func() { ex.updateArrived(arrival) }
	ex.ops.add(arrival)
	return nil
}

// updateArrived hands an update to its handler, if there is one, and asks for the next.
func (ex *Execution) updateArrived(arrival *Promise) {
	if arrival.err != nil {
		ex.crash(arrival.err)
		return
	}
	var request abi.UpdateRequest
	if err := abi.Unmarshal(arrival.raw, &request); err != nil {
		ex.crash(abi.Errorf(abi.CodeGuestProtocol, "an update does not decode: %v", err))
		return
	}
	if refused := ex.askForUpdate(); refused != nil {
		ex.crash(refused)
		return
	}
	handler, ok := ex.updates.handlers[request.Name]
	if !ok {
		ex.updates.waiting = append(ex.updates.waiting, request)
		return
	}
	ex.handleUpdate(request, handler)
}

// handleUpdate runs an update in a coroutine of its own, and answers it.
func (ex *Execution) handleUpdate(request abi.UpdateRequest, handler UpdateHandler) {
	co := ex.spawn(func(co *Coroutine) {
		s := Scope{co, ex.root}
		answer := abi.Answer{ID: request.ID}
		if refused := handler.refuses(request.Input); refused != nil {
			answer.Error = refused
		} else if value, err := handler.Run(s, request.Input); err != nil {
			answer.Error = ex.workflowError(err)
		} else {
			answer.Value = value
		}
		ex.ask(ex.workflow.UpdateOps.Answer, EncodeBody(answer))
	})
	co.serves = Label{"update", request.Name}
}

// refuses says why an input is refused; nil if it is not.
func (h *UpdateHandler) refuses(input []byte) *abi.Error {
	if h.Validate == nil {
		return nil
	}
	if err := h.Validate(input); err != nil {
		return answerError(abi.CodeUpdateRefused, err)
	}
	return nil
}

// HandleUpdate sets the handler of an update from now on, and runs it for the waiting updates.
func (s Scope) HandleUpdate(name string, handler UpdateHandler) {
	what := Label{"update", name}
	s.check(what.String())
	s.co.beginCall(what)
	defer s.co.endCall()
	ex := s.co.ex
	if _, ok := ex.workflow.update(name); !ok {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"workflow %s does not take the update %s: declare it where the workflow is made, with Takes",
			ex.workflow.Name, name,
		))
	}
	ex.updates.handlers[name] = handler
	ex.updates.waiting = slices.DeleteFunc(ex.updates.waiting, func(r abi.UpdateRequest) bool {
		if r.Name != name {
			return false
		}
		ex.handleUpdate(r, handler)
		return true
	})
}

// validateUpdate says whether the workflow would refuse an update at this moment. One whose
// handler is not known yet is validated when it is.
func (ex *Execution) validateUpdate(q abi.Query) (outcome *abi.Outcome) {
	defer func() {
		if p := recover(); p != nil {
			outcome = &abi.Outcome{Error: panickedAnswer(abi.CodeUpdateRefused, p)}
		}
	}()
	if ex.updates != nil {
		handler := ex.updates.handlers[q.Name]
		if refused := handler.refuses(q.Input); refused != nil {
			return &abi.Outcome{Error: refused}
		}
	}
	return &abi.Outcome{Value: abi.Nil}
}
