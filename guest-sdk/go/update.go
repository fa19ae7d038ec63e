package cruster

import (
	"reflect"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Update is a request to a running workflow that changes it and is answered: durable as a signal is, with a result as a
// query has.
//
//	var Rename = cruster.NewUpdate[string, int]("rename")
//
//	var Document = cruster.NewWorkflow("Document", document).Takes(Rename)
//
//	func document(ctx cruster.Context, name string) (string, error) {
//		names := []string{name}
//		Rename.Handle(ctx, func(ctx cruster.Context, to string) (int, error) {
//			names = append(names, to)
//			return len(names), nil
//		})
//		err := cruster.WaitUntil(ctx, func() bool { return len(names) > 3 })
//		return names[len(names)-1], err
//	}
//
// An update that can be refused before it is accepted is a [ValidatedUpdate].
type Update[In, Out any] struct {
	name string
}

// AnyUpdate is an [Update] or a [ValidatedUpdate] of any types; see [Workflow.Takes].
type AnyUpdate interface {
	// Name is the name of the update.
	Name() string
	update() guest.Update
}

// UpdateOf is an [Update] or a [ValidatedUpdate] with an In, which is answered with an Out.
type UpdateOf[In, Out any] interface {
	AnyUpdate
	types(In) Out
}

// NewUpdate names an update with an In, which is answered with an Out. Use [None] for a missing
// one.
//
// It panics if the name is invalid.
func NewUpdate[In, Out any](name string) Update[In, Out] {
	guest.CheckName("update", name)
	return Update[In, Out]{name: name}
}

// Validated is the update with a function that may refuse it; see [ValidatedUpdate].
func (u Update[In, Out]) Validated() ValidatedUpdate[In, Out] {
	return ValidatedUpdate[In, Out]{unchecked: u}
}

// Name is the name of the update.
func (u Update[In, Out]) Name() string { return u.name }

func (u Update[In, Out]) update() guest.Update {
	return guest.Update{Name: u.name, Input: reflect.TypeFor[In](), Output: reflect.TypeFor[Out]()}
}

func (u Update[In, Out]) types(In) (out Out) { return out }

// Handle sets the workflow's handler of the update from here on, also for updates that came before.
// Each runs in a coroutine of its own, begun in the order in which they were sent: fn may wait, and
// while it does others run. The result of fn is the answer; an error is an answer, too, and does
// not end the workflow.
//
// When the workflow ends, the updates that it has not answered fail. See [WaitUntil] for how to wait for them.
//
// It panics if the workflow does not take the update.
func (u Update[In, Out]) Handle(ctx Context, fn func(Context, In) (Out, error)) {
	ctx.scope.HandleUpdate(u.name, guest.UpdateHandler{Run: u.run(fn)})
}

// run is fn for msgpack.
func (u Update[In, Out]) run(fn func(Context, In) (Out, error)) func(guest.Scope, []byte) ([]byte, error) {
	return func(s guest.Scope, input []byte) ([]byte, error) {
		in, err := u.decode(input)
		if err != nil {
			return nil, err
		}
		out, err := fn(Context{scope: s}, in)
		if err != nil {
			return nil, err
		}
		return encode("the answer to update ", u.name, out)
	}
}

func (u Update[In, Out]) decode(input []byte) (In, error) {
	in, err := decode[In](input)
	if err != nil {
		return in, &guest.BadInput{
			Reason: abi.Errorf(abi.CodeBadInput, "the input does not fit update %s: %v", u.name, err),
		}
	}
	return in, nil
}

// ValidatedUpdate is an [Update] that the workflow may refuse before it is accepted: its sender learns at once, and the
// journal does not.
//
//	var Withdraw = cruster.NewUpdate[int, int]("withdraw").Validated()
//
//	Withdraw.Handle(ctx,
//		func(cents int) error {
//			if cents > balance {
//				return cruster.Errorf("poor", "there are %d cents", balance)
//			}
//			return nil
//		},
//		func(ctx cruster.Context, cents int) (int, error) {
//			balance -= cents
//			return balance, nil
//		})
type ValidatedUpdate[In, Out any] struct {
	unchecked Update[In, Out]
}

// Name is the name of the update.
func (u ValidatedUpdate[In, Out]) Name() string { return u.unchecked.name }

func (u ValidatedUpdate[In, Out]) update() guest.Update {
	registered := u.unchecked.update()
	registered.Validated = true
	return registered
}

func (u ValidatedUpdate[In, Out]) types(In) (out Out) { return out }

// Handle is [Update.Handle] with a function that refuses the update by an error. Validate only looks: it is asked
// before the update is accepted, on a copy of the workflow, and once more right before fn runs. Durable calls in it
// fail.
func (u ValidatedUpdate[In, Out]) Handle(ctx Context, validate func(In) error, fn func(Context, In) (Out, error)) {
	ctx.scope.HandleUpdate(u.unchecked.name, guest.UpdateHandler{
		Validate: func(input []byte) error {
			in, err := u.unchecked.decode(input)
			if err != nil {
				return err
			}
			return validate(in)
		},
		Run: u.unchecked.run(fn),
	})
}

// Takes declares the updates that the workflow takes; it is sent no others. Call it where the
// workflow is made, at package level.
//
// It panics if the workflow takes an update of that name already.
func (w *Workflow[Req, Res]) Takes(updates ...AnyUpdate) *Workflow[Req, Res] {
	for _, u := range updates {
		w.registered.Take(guest.UpdateOps{Update: &opUpdate, Answer: &opAnswer}, u.update())
	}
	return w
}

// WaitUntil waits until a condition about the variables of the workflow holds: until handlers of updates, or other
// coroutines, have made it so. Holds only looks; it is asked whenever a coroutine has run, and durable calls in it
// panic.
func WaitUntil(ctx Context, holds func() bool) error {
	_, err := When(ctx, holds).Await(ctx)
	return err
}

// When is [WaitUntil] as a future, for [Select] and the like:
//
//	_, err := cruster.WithTimeout(ctx, time.Hour, cruster.When(ctx, func() bool { return approved }))
func When(ctx Context, holds func() bool) Future[None] {
	return Future[None]{p: ctx.scope.When(holds)}
}
