package cruster

import (
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// QueryOf is a question that a running workflow answers at any time, also while it sleeps: its
// progress, its current wait. It costs no step of the journal.
//
//	var Progress = cruster.NewQuery[cruster.None, int]("progress")
//
//	var Import = cruster.NewWorkflow("Import", importAll).Answers(Progress)
//
//	func importAll(ctx cruster.Context, files []string) (int, error) {
//		done := 0
//		Progress.Handle(ctx, func(cruster.None) (int, error) { return done, nil })
//		for _, f := range files {
//			if _, err := ImportFile.Call(ctx, f); err != nil {
//				return done, err
//			}
//			done++
//		}
//		return done, nil
//	}
type QueryOf[In, Out any] struct {
	name string
}

// AnyQuery is a [QueryOf] of any types; see [Workflow.Answers].
type AnyQuery interface {
	// Name is the name of the query.
	Name() string
	query() guest.Query
}

// NewQuery names a query with an In, which is answered with an Out. Use [None] for a query without an input.
//
// It panics if the name is invalid.
func NewQuery[In, Out any](name string) QueryOf[In, Out] {
	guest.CheckName("query", name)
	return QueryOf[In, Out]{name: name}
}

// Name is the name of the query.
func (q QueryOf[In, Out]) Name() string { return q.name }

func (q QueryOf[In, Out]) query() guest.Query {
	return guest.Query{Name: q.name, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
}

// Handle sets the workflow's answer to the query from here on. Fn sees the variables of the
// workflow as they are when it is asked; it only looks: it runs on a copy of the workflow, so that
// its changes are lost, and durable calls in it fail. Call Handle first in a workflow: before it,
// the query is refused.
//
// It panics if the workflow does not answer the query.
func (q QueryOf[In, Out]) Handle(ctx Context, fn func(In) (Out, error)) {
	ctx.scope.HandleQuery(q.name, func(body []byte) ([]byte, error) {
		in, err := decode[In](body)
		if err != nil {
			return nil, &guest.BadInput{
				Reason: abi.Errorf(abi.CodeBadInput, "the input does not fit query %s: %v", q.name, err),
			}
		}
		out, err := fn(in)
		if err != nil {
			return nil, err
		}
		return encode("the answer to query ", q.name, out)
	})
}

// Answers declares the queries that the workflow answers; it is asked no others. Call it where the workflow is made, at
// package level.
//
// It panics if the workflow answers a query of that name already.
func (w *Workflow[Req, Res]) Answers(queries ...AnyQuery) *Workflow[Req, Res] {
	for _, q := range queries {
		w.registered.Answer(q.query())
	}
	return w
}
