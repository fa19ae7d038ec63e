package cruster

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Deferred is a named promise of an execution. It is resolved or rejected once: by the workflow, by another workflow,
// or from outside through the API. It may be settled before the workflow awaits it.
//
//	var Approved = cruster.NewDeferred[Decision]("approved")
//
//	var Approve = cruster.NewWorkflow("Approve", approve).Accepts(Approved)
//
// A workflow declares its deferreds: another name, or a value that is not a T, is refused before it settles anything.
// For names that are made while the workflow runs there is [DynamicDeferred].
type Deferred[T any] struct {
	name string
}

// NewDeferred names a promise; every execution has its own promise of that name.
//
// It panics if the name is invalid.
func NewDeferred[T any](name string) Deferred[T] {
	guest.CheckName("deferred", name)
	return Deferred[T]{name: name}
}

// Name is the name of the deferred.
func (d Deferred[T]) Name() string { return d.name }

func (d Deferred[T]) acceptedBy(w *guest.Workflow) {
	w.AcceptDeferred(guest.Deferred{Name: d.name, Value: reflect.TypeFor[T]()})
}

// DynamicDeferred is all the promises of an execution whose names begin alike. Each has its own name, which is made
// while the workflow runs:
//
//	var Approvals = cruster.NewDynamicDeferred[Decision]("approve-")
//
//	var Approve = cruster.NewWorkflow("Approve", approve).Accepts(Approvals)
//
//	decision, err := Approvals.Named(name).Await(ctx) // the deferred "approve-bob"
type DynamicDeferred[T any] struct {
	prefix string
}

// NewDynamicDeferred says how the names of promises begin.
//
// It panics if no valid name begins like that.
func NewDynamicDeferred[T any](prefix string) DynamicDeferred[T] {
	guest.CheckName("deferred", prefix)
	return DynamicDeferred[T]{prefix: prefix}
}

// Name is how the names begin.
func (d DynamicDeferred[T]) Name() string { return d.prefix }

func (d DynamicDeferred[T]) acceptedBy(w *guest.Workflow) {
	w.AcceptDeferred(guest.Deferred{Name: d.prefix, Dynamic: true, Value: reflect.TypeFor[T]()})
}

// Named is the promise whose name goes on like that: letters, digits, '_', '-' and '.', up to 128 bytes with the
// beginning.
//
// It panics if the name is invalid, or empty.
func (d DynamicDeferred[T]) Named(name string) Deferred[T] {
	if name == "" {
		panic(fmt.Sprintf("cruster: a deferred %q needs a name that goes on", d.prefix))
	}
	return NewDeferred[T](d.prefix + name)
}

// Await waits until the deferred of this execution is settled.
//
// It panics if the workflow does not accept the deferred.
func (d Deferred[T]) Await(ctx Context) (T, error) { return d.Future(ctx).Await(ctx) }

// Future is the deferred of this execution as a future, for [Select] and the like.
//
// It panics if the workflow does not accept the deferred.
func (d Deferred[T]) Future(ctx Context) Future[T] {
	ctx.scope.CheckDeferred("waits for", d.name)
	p := ctx.scope.Issue(
		&opDeferred, guest.Label{Kind: "deferred", Name: d.name}, guest.EncodeBody(abi.Deferred{Name: d.name}),
	)
	p.MustFit(reflect.TypeFor[T]())
	return Future[T]{p: p}
}

// Resolve settles the deferred of this execution with a value. It returns false if the deferred was already settled:
// the first settlement stands.
//
// It panics if the workflow does not accept the deferred.
func (d Deferred[T]) Resolve(ctx Context, value T) (bool, error) {
	return d.ResolveIn(ctx, "", value)
}

// Reject settles the deferred of this execution with an error.
//
// It panics if the workflow does not accept the deferred.
func (d Deferred[T]) Reject(ctx Context, cause error) (bool, error) {
	return d.RejectIn(ctx, "", cause)
}

// ResolveIn is [Deferred.Resolve] for another execution. It fails if that execution's workflow does not accept the
// deferred, or not with a value of this type.
func (d Deferred[T]) ResolveIn(ctx Context, executionID string, value T) (bool, error) {
	b, err := encode("the value of deferred ", d.name, value)
	if err != nil {
		return false, err
	}
	return d.settle(ctx, abi.Resolve{Execution: executionID, Name: d.name, Value: b})
}

// RejectIn is [Deferred.Reject] for another execution.
func (d Deferred[T]) RejectIn(ctx Context, executionID string, cause error) (bool, error) {
	if cause == nil {
		return false, errors.New("cruster: Reject needs an error")
	}
	return d.settle(ctx, abi.Resolve{
		Error: guest.NewError(abi.CodeDeferredRejected, cause), Execution: executionID, Name: d.name,
	})
}

func (d Deferred[T]) settle(ctx Context, body abi.Resolve) (bool, error) {
	if body.Execution == "" {
		ctx.scope.CheckDeferred("settles", d.name)
	}
	return Future[bool]{
		p: ctx.scope.Issue(&opResolve, guest.Label{Kind: "resolve", Name: d.name}, guest.EncodeBody(body)),
	}.Await(ctx)
}
