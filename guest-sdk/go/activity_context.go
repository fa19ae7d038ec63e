package cruster

import (
	"context"
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// ActivityContext is what an activity holds of the world. It is a
// context.Context too, for libraries that want one; it is never cancelled, as
// the host ends an attempt that takes too long from outside.
//
// In an activity time.Now is real time and goroutines are unrestricted.
type ActivityContext struct {
	context.Context
	attempt guest.Attempt
}

func newActivityContext(a guest.Attempt) *ActivityContext {
	return &ActivityContext{Context: context.Background(), attempt: a}
}

// Attempt counts the attempts of this step from 1.
func (c *ActivityContext) Attempt() int { return c.attempt.Invocation.Attempt }

// ExecutionID is the id of the execution this is a step of.
func (c *ActivityContext) ExecutionID() string { return c.attempt.Invocation.Execution }

// Namespace is the tenant that the execution belongs to.
func (c *ActivityContext) Namespace() string { return c.attempt.Invocation.Namespace }

// IdempotencyKey is the same for all attempts of this step and for no other
// step. Give it to services that refuse to do the same thing twice: an attempt
// whose outcome was lost is repeated with it.
func (c *ActivityContext) IdempotencyKey() string { return c.attempt.Invocation.IdempotencyKey }

// Logger writes records of this execution to the host's log.
func (c *ActivityContext) Logger() *slog.Logger {
	return slog.New(&logHandler{host: c.attempt.Host})
}

// Config reads a value of the deployment's configuration.
func (c *ActivityContext) Config(name string) (string, bool) {
	var reply abi.ConfigReply
	if err := c.do(&callConfig, abi.ConfigRequest{Name: name}, &reply); err != nil {
		panic(err) // only a host that breaks the ABI gets here
	}
	return reply.Value, reply.Found
}

// Tx is the transaction of the activity. It begins with the first statement and
// commits together with the activity's result: both are there or neither is.
// An activity that fails leaves nothing behind.
func (c *ActivityContext) Tx() *Tx { return &Tx{ctx: c} }

// HTTP calls out, to the hosts that the deployment was granted. It is refused
// once the transaction has begun: call out first.
func (c *ActivityContext) HTTP() *HTTPClient { return &HTTPClient{ctx: c} }

// do performs an immediate call of the host.
func (c *ActivityContext) do(call *guest.Call, body, reply any) error {
	raw, failed := c.attempt.Host.Do(call, abi.MustMarshal(body))
	if failed != nil {
		return failed
	}
	if err := abi.Unmarshal(raw, reply); err != nil {
		return abi.Errorf(abi.CodeGuestProtocol, "the reply of %s does not decode: %v", call.Name, err)
	}
	return nil
}
