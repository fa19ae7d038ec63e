package crustertest

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// QueryAfter asks the workflow a question at a virtual time after its start, and hands the answer to fn, or the error
// that a host would answer with. A host asks a copy of the workflow; here it is asked itself, so that an answer must
// not change it.
func QueryAfter[In, Out any](d time.Duration, q cruster.QueryOf[In, Out], in In, fn func(Out, error)) Option {
	body, err := abi.Marshal(in)
	if err != nil {
		panic(fmt.Sprintf("crustertest: the input of query %s: %v", q.Name(), err))
	}
	return outside(d, func(r *run) {
		var out Out
		value, failure := r.query(q.Name(), body)
		if failure != nil {
			fn(out, failure)
			return
		}
		fn(out, abi.Unmarshal(value, &out))
	})
}

// query asks the workflow, as a host does.
func (r *run) query(name string, input []byte) ([]byte, error) {
	wf, ok := r.module.Workflow(r.workflow)
	if !ok || r.outcome != nil {
		return nil, abi.Errorf(abi.CodeAlreadyOver, "%s is %s", r.id, r.state())
	}
	input, err := wf.CheckQuery(name, input)
	if err != nil {
		return nil, err
	}
	ex := r.live()
	if ex == nil {
		return nil, abi.Errorf(abi.CodeQueryNotReady, "%s has not begun", r.id)
	}
	outcome := r.ask(ex, abi.Query{Input: input, Name: name})
	if outcome.Error != nil {
		return nil, outcome.Error
	}
	return outcome.Value, nil
}
