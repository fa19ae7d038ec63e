package guest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Query is a query that a workflow answers.
type Query struct {
	Name   string
	Input  reflect.Type
	Output reflect.Type
}

// Answer registers queries of a workflow. It panics if the workflow has one of that name.
func (w *Workflow) Answer(queries ...Query) {
	for _, q := range queries {
		if w.answers(q.Name) {
			panic(fmt.Sprintf("cruster: workflow %s answers query %q twice", w.Name, q.Name))
		}
		w.Queries = append(w.Queries, q)
	}
}

func (w *Workflow) answers(name string) bool {
	return slices.ContainsFunc(w.Queries, func(q Query) bool { return q.Name == name })
}

func (w *Workflow) queryInfo() []abi.QueryInfo {
	if len(w.Queries) == 0 {
		return nil
	}
	all := make([]abi.QueryInfo, 0, len(w.Queries))
	for _, q := range w.Queries {
		CheckTypes(fmt.Sprintf("query %q", q.Name), q.Input, q.Output)
		all = append(all, abi.QueryInfo{Input: SchemaOf(q.Input), Name: q.Name, Output: SchemaOf(q.Output)})
	}
	slices.SortFunc(all, func(a, b abi.QueryInfo) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// CheckQuery checks the input of a query as a host does, and makes it canonical.
func (w *Workflow) CheckQuery(name string, input []byte) ([]byte, error) {
	for _, q := range w.Queries {
		if q.Name == name {
			return (&abi.QueryInfo{Name: name, Input: SchemaOf(q.Input)}).CheckInput(input)
		}
	}
	return nil, abi.Errorf(abi.CodeUnknownQuery, "workflow %s has no query %s", w.Name, name)
}

// HandleQuery says how the workflow answers a query from now on; input and answer are msgpack.
func (s Scope) HandleQuery(name string, answer func(input []byte) ([]byte, error)) {
	what := Label{"query", name}
	s.check(what.String())
	s.co.beginCall(what)
	defer s.co.endCall()
	ex := s.co.ex
	if !ex.workflow.answers(name) {
		panic(abi.Errorf(
			abi.CodeWrongContext,
			"workflow %s does not answer the query %s: declare it where the workflow is made, with Answers",
			ex.workflow.Name, name,
		))
	}
	if ex.queries == nil {
		ex.queries = map[string]func([]byte) ([]byte, error){}
	}
	ex.queries[name] = answer
}

// Query answers a query while the workflow waits. Its panic is an answer too: no coroutine of the
// workflow is concerned.
func (ex *Execution) Query(q abi.Query) (outcome *abi.Outcome) {
	if q.Update {
		return ex.validateUpdate(q)
	}
	answer := ex.queries[q.Name]
	if answer == nil {
		return &abi.Outcome{
			Error: abi.Errorf(abi.CodeQueryNotReady, "%s does not answer the query %s yet", ex.inv.Execution, q.Name),
		}
	}
	defer func() {
		if p := recover(); p != nil {
			outcome = &abi.Outcome{Error: panickedAnswer(abi.CodeQueryFailed, p)}
		}
	}()
	value, err := answer(q.Input)
	if err != nil {
		return &abi.Outcome{Error: answerError(abi.CodeQueryFailed, err)}
	}
	return &abi.Outcome{Value: value}
}

// answerError is the error of an answer. One of an input that does not decode is not the workflow's.
func answerError(code abi.Code, err error) *abi.Error {
	var bad *BadInput
	if errors.As(err, &bad) {
		return bad.Reason
	}
	return NewError(code, err)
}

func panickedAnswer(code abi.Code, p any) *abi.Error {
	if e, ok := p.(*abi.Error); ok && e.Code == abi.CodeGuestGoroutine {
		return abi.Errorf(abi.CodeWrongContext, "durable calls are not available in the answer to a query").
			WithHint("A query only looks. Send the workflow a signal to have it do something.")
	}
	where, _ := panicPlace()
	return abi.Errorf(code, "the answer panicked: %v%s", p, where)
}
