package cruster

import (
	"reflect"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Operation is something that entities of a type can be called for: it takes an In and returns an Out. Make one with
// [NewOperation], [NewReadOnly] or [NewRPC]; call it from a workflow, for an entity ([Operation.On]).
type Operation[In, Out any] struct {
	entity string // "Name" or "deployment/Name"
	name   string
	of     *guest.Entity // nil for one of another deployment
}

// NewOperation registers an operation of an entity with a state: fn may change the state it is given. Operations of one
// entity run one after the other, each once. If fn returns an error nothing has changed, and its caller gets the error.
//
// fn has no effects but the state, its result and the calls of its context: it may run again if the
// host ends before they are durable.
//
// It panics if the name is invalid or already registered for this entity.
func NewOperation[S, In, Out any](
	e *StatefulEntity[S], name string, fn func(*EntityContext, *S, In) (Out, error),
) *Operation[In, Out] {
	e.registered.Add(newOperation[In, Out](name, func(r *guest.OperationRun, s guest.State, in In) (Out, error) {
		return fn(newEntityContext(r), &s.(*state[S]).value, in)
	}))
	return &Operation[In, Out]{entity: e.Name(), name: name, of: e.registered}
}

// NewReadOnly registers an operation that only looks at the state. Such operations run beside each
// other and beside operations that change the state (see [Concurrency]), write nothing, and see
// everything acknowledged before they began. For an id without an entity they see the initial
// state, and create none.
func NewReadOnly[S, In, Out any](
	e *StatefulEntity[S], name string, fn func(*ReadContext, S, In) (Out, error),
) *Operation[In, Out] {
	op := newOperation[In, Out](name, func(r *guest.OperationRun, s guest.State, in In) (Out, error) {
		return fn(&newEntityContext(r).ReadContext, s.(*state[S]).value, in)
	})
	op.ReadOnly = true
	e.registered.Add(op)
	return &Operation[In, Out]{entity: e.Name(), name: name, of: e.registered}
}

// newOperation wraps a typed function.
func newOperation[In, Out any](
	name string, fn func(*guest.OperationRun, guest.State, In) (Out, error),
) *guest.Operation {
	return &guest.Operation{
		Name:   name,
		Input:  reflect.TypeFor[In](),
		Output: reflect.TypeFor[Out](),
		Run: func(r *guest.OperationRun, s guest.State, input []byte) ([]byte, error) {
			in, err := decodeInput[In](name, input)
			if err != nil {
				return nil, err
			}
			out, err := fn(r, s, in)
			if err != nil {
				return nil, err
			}
			return encodeOutput(name, out)
		},
	}
}

func decodeInput[In any](operation string, input []byte) (In, error) {
	in, err := decode[In](input)
	if err != nil {
		return in, guest.OperationFault(abi.Errorf(
			abi.CodeOperationInput, "the input does not fit operation %s: %v", operation, err,
		))
	}
	return in, nil
}

func encodeOutput[Out any](operation string, out Out) ([]byte, error) {
	b, err := encode("the result of operation ", operation, out)
	if abi.CodeOf(err) == abi.CodePayloadTooLarge {
		return nil, guest.OperationFault(abi.AsError(err))
	}
	return b, err
}

// RemoteOperation is an operation of an entity that this module does not contain; entity is "deployment/Name".
func RemoteOperation[In, Out any](entity, name string) *Operation[In, Out] {
	return &Operation[In, Out]{entity: entity, name: name}
}

// Name is the name the operation was registered under.
func (o *Operation[In, Out]) Name() string { return o.name }

// Entity is the type of entity that has the operation: "Name", or "deployment/Name" for a
// [RemoteOperation].
func (o *Operation[In, Out]) Entity() string { return o.entity }

// On is the operation of the entity with an id: 1 to 512 bytes of text.
func (o *Operation[In, Out]) On(id string) Target[In, Out] {
	return Target[In, Out]{op: o, id: id}
}

// Target is an operation of one entity; see [Operation.On].
type Target[In, Out any] struct {
	op *Operation[In, Out]
	id string
}

// Call performs the operation and waits for its result.
//
// Only a workflow can call and wait. An activity returns the input of the call; an operation sends
// ([Target.Send]).
func (t Target[In, Out]) Call(ctx Context, in In) (Out, error) { return t.Go(ctx, in).Await(ctx) }

// Go performs the operation; the future is its result.
func (t Target[In, Out]) Go(ctx Context, in In) Future[Out] {
	what := t.label()
	m, err := t.message(deploymentOf(ctx.scope.Execution()), in)
	if err != nil {
		return Future[Out]{p: ctx.scope.Failed(what, err)}
	}
	return Future[Out]{p: ctx.scope.Issue(&opEntityCall, what, guest.EncodeBody(m))}
}

// Send has the operation performed later, and does not wait for it: its result and its error are dropped. In a workflow
// Send returns when the message is durable, in an operation the message is sent together with the new state. Messages
// from one sender to one entity arrive in the order in which they were sent.
func (t Target[In, Out]) Send(ctx Sender, in In) error {
	m, err := t.message(ctx.deployment(), in)
	if err != nil {
		return err
	}
	return ctx.sendToEntity(m)
}

// Sender can send messages to entities: the [Context] of a workflow or the [EntityContext] of an operation.
type Sender interface {
	deployment() string
	sendToEntity(m abi.EntityMessage) error
}

var (
	_ Sender = Context{}
	_ Sender = (*EntityContext)(nil)
)

func (ctx Context) deployment() string { return deploymentOf(ctx.scope.Execution()) }

func (ctx Context) sendToEntity(m abi.EntityMessage) error {
	p := ctx.scope.Issue(&opEntitySend, guest.Label{Kind: "operation", Name: m.Operation}, guest.EncodeBody(m))
	_, err := Future[None]{p: p}.Await(ctx)
	return err
}

func (t Target[In, Out]) label() guest.Label {
	return guest.Label{Kind: "operation", Name: t.op.name}
}

// message is a call of the operation from a deployment.
func (t Target[In, Out]) message(deployment string, in In) (abi.EntityMessage, error) {
	input, err := encode("the input of operation ", t.op.name, in)
	if err != nil {
		return abi.EntityMessage{}, err
	}
	entity := t.op.entity
	if strings.Contains(t.id, "/") && !strings.Contains(entity, "/") {
		entity = deployment + "/" + entity // or the id would be taken for one with a deployment in front
	}
	return abi.EntityMessage{Entity: entity + "/" + t.id, Input: input, Operation: t.op.name}, nil
}
