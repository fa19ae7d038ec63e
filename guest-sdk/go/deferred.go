package cruster

import (
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Deferred is a named promise of an execution. It is resolved or rejected
// once: by the workflow, by another workflow, or from outside through the API. It
// may be settled before the workflow awaits it.
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

// Await waits until the deferred of this execution is settled.
func (d Deferred[T]) Await(ctx Context) (T, error) { return d.Future(ctx).Await(ctx) }

// Future is the deferred of this execution as a future, for [Select] and the
// like.
func (d Deferred[T]) Future(ctx Context) Future[T] {
	return Future[T]{p: ctx.scope.Issue(&opDeferred, guest.Label{Kind: "deferred", Name: d.name}, guest.EncodeBody(abi.Deferred{Name: d.name}))}
}

// Resolve settles the deferred of this execution with a value. It returns false
// if the deferred was already settled: the first settlement stands.
func (d Deferred[T]) Resolve(ctx Context, value T) (bool, error) {
	return d.ResolveIn(ctx, "", value)
}

// Reject settles the deferred of this execution with an error.
func (d Deferred[T]) Reject(ctx Context, cause error) (bool, error) {
	return d.RejectIn(ctx, "", cause)
}

// ResolveIn is [Deferred.Resolve] for another execution.
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
	return d.settle(ctx, abi.Resolve{Error: guest.NewError(abi.CodeDeferredRejected, cause), Execution: executionID, Name: d.name})
}

func (d Deferred[T]) settle(ctx Context, body abi.Resolve) (bool, error) {
	return Future[bool]{p: ctx.scope.Issue(&opResolve, guest.Label{Kind: "resolve", Name: d.name}, guest.EncodeBody(body))}.Await(ctx)
}
