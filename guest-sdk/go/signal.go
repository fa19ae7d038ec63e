package cruster

import (
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Signal is a message to a running workflow: from outside through the API, or from another
// workflow. A workflow may be sent any number of signals of one name, and receives each of them
// once, in the order in which they were sent. Signals sent before it asks for them wait, also those
// sent before its first step.
//
//	var Paid = cruster.NewSignal[Payment]("paid")
//
//	var ProcessOrder = cruster.NewWorkflow("ProcessOrder", processOrder).Accepts(Paid)
//
//	func processOrder(ctx cruster.Context, o Order) (int64, error) {
//		var sum int64
//		for sum < o.Cents {
//			payment, err := Paid.Receive(ctx)
//			if err != nil {
//				return sum, err
//			}
//			sum += payment.Cents
//		}
//		return sum, nil
//	}
//
// For something that happens once, a [Deferred] is simpler.
type Signal[T any] struct {
	name string
}

// NewSignal names a signal that brings a T.
//
// It panics if the name is invalid.
func NewSignal[T any](name string) Signal[T] {
	guest.CheckName("signal", name)
	return Signal[T]{name: name}
}

// Name is the name of the signal.
func (s Signal[T]) Name() string { return s.name }

func (s Signal[T]) acceptedBy(w *guest.Workflow) {
	w.Accept(guest.Signal{Name: s.name, Value: reflect.TypeFor[T]()})
}

// Receive waits for the next signal of this name.
//
// It panics if the workflow does not accept the signal.
func (s Signal[T]) Receive(ctx Context) (T, error) { return s.Future(ctx).Await(ctx) }

// Future is the next signal of this name as a future, for [Select] and the like:
//
//	payment, err := cruster.WithTimeout(ctx, 24*time.Hour, Paid.Future(ctx))
//
// A signal goes to the future that has been awaited for longest. A future takes none unless it is
// awaited or [Future.Done] is asked, so a future that lost against a timeout or was cancelled does
// not keep a signal from later ones.
//
// It panics if the workflow does not accept the signal.
func (s Signal[T]) Future(ctx Context) Future[T] {
	return Future[T]{p: ctx.scope.Receive(&opReceive, s.name)}
}

// TryReceive is the next signal of this name if it has been delivered, without waiting; false if
// not. One signal at a time is delivered, while the workflow waits for something, and only if it
// has asked: each call asks. So a workflow that does its work step by step looks between two steps
// for signals that have arrived meanwhile:
//
//	cancelled, ok, err := Cancel.TryReceive(ctx)
//
// It panics if the workflow does not accept the signal.
func (s Signal[T]) TryReceive(ctx Context) (T, bool, error) {
	next := Future[T]{p: ctx.scope.TryReceive(&opReceive, s.name)}
	if !next.Done() {
		var zero T
		return zero, false, nil
	}
	v, err := next.result()
	return v, err == nil, err
}

// Send sends the signal to an execution, and returns when it is durable. The execution may not have come so far as to
// ask for it.
func (s Signal[T]) Send(ctx Context, executionID string, value T) error {
	what := guest.Label{Kind: "signal", Name: s.name}
	b, err := encode("the value of signal ", s.name, value)
	if err != nil {
		return err
	}
	body := guest.EncodeBody(abi.Signal{Execution: executionID, Name: s.name, Value: b})
	_, err = Future[None]{p: ctx.scope.Issue(&opSignal, what, body)}.Await(ctx)
	return err
}
