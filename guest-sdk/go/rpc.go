package cruster

import (
	"context"
	"log/slog"
	"reflect"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// RPCOption is an option of [NewRPC] and [NewGroupRPC].
type RPCOption func(*guest.Operation)

// Persisted has each call saved before it runs: from then on it runs until it has an outcome, also if the host ends
// meanwhile. Without it a call is best effort: it runs once at most, and if it is lost its caller gets an error.
func Persisted() RPCOption {
	return func(o *guest.Operation) { o.Persisted = true }
}

// NewRPC registers an operation of an entity without a state.
//
// It panics if the name is invalid or already registered for this entity.
func NewRPC[In, Out any](
	e *Entity, name string, fn func(*RPCContext, In) (Out, error), opts ...RPCOption,
) *Operation[In, Out] {
	e.registered.Add(newRPC(name, fn, opts))
	return &Operation[In, Out]{entity: e.Name(), name: name, of: e.registered}
}

// newRPC wraps a typed function.
func newRPC[In, Out any](name string, fn func(*RPCContext, In) (Out, error), opts []RPCOption) *guest.Operation {
	op := &guest.Operation{
		Name:   name,
		Input:  reflect.TypeFor[In](),
		Output: reflect.TypeFor[Out](),
		Call: func(a guest.Attempt, input []byte) ([]byte, error) {
			in, err := decodeInput[In](name, input)
			if err != nil {
				return nil, err
			}
			ctx := newRPCContext(a)
			defer ctx.within.end()
			out, err := fn(ctx, in)
			if err != nil {
				return nil, err
			}
			return encodeOutput(name, out)
		},
	}
	for _, o := range opts {
		o(op)
	}
	return op
}

// RPCContext gives an operation of an entity without a state access to SQL, HTTP and configuration.
// It is also a context.Context, for libraries that need one: its deadline is a little before the
// host ends the call, and it is cancelled when the call ends.
type RPCContext struct {
	context.Context
	attempt guest.Attempt
	within  *attemptContext
}

func newRPCContext(a guest.Attempt) *RPCContext {
	c := &RPCContext{attempt: a}
	c.within = newAttemptContext(c, a.Invocation.Deadline)
	c.Context = c.within
	return c
}

// ID is the id of the entity.
func (c *RPCContext) ID() string { return entityID(&c.attempt.Invocation) }

// Namespace is the tenant of the entity.
func (c *RPCContext) Namespace() string { return c.attempt.Invocation.Namespace }

// IdempotencyKey of a call that is [Persisted]: the same for all attempts of this call, and different for every other.
// Send it to services that detect repeated requests. It is empty for other calls.
func (c *RPCContext) IdempotencyKey() string { return c.attempt.Invocation.IdempotencyKey }

// Logger writes records of this entity to the host's log.
func (c *RPCContext) Logger() *slog.Logger { return c.effects().logger() }

// Config reads a value of the deployment's configuration.
func (c *RPCContext) Config(name string) (string, bool) { return c.effects().config(name) }

// Tx is the transaction of the call. It begins with the first statement, and commits before the caller is answered. If
// the call fails, it is rolled back.
func (c *RPCContext) Tx() *Tx { return &Tx{effects: c.effects(), keep: &c.within.keep} }

// HTTP makes HTTP calls, to the hosts that the deployment was granted. It is refused once the transaction has begun:
// make HTTP calls before SQL.
func (c *RPCContext) HTTP() *HTTPClient { return &HTTPClient{effects: c.effects()} }

func (c *RPCContext) effects() effects { return effects{host: c.attempt.Host} }
