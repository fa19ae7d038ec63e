package cruster

import (
	"context"
	"log/slog"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// ActivityContext gives an activity access to SQL, HTTP and configuration. It is also a
// context.Context, for libraries that need one: its deadline is a little before the host ends the
// attempt, and it is cancelled when the attempt ends.
//
// In an activity time.Now is real time and goroutines are unrestricted.
type ActivityContext struct {
	context.Context
	attempt guest.Attempt
	within  *attemptContext
}

func newActivityContext(a guest.Attempt) *ActivityContext {
	c := &ActivityContext{attempt: a}
	c.within = newAttemptContext(c, a.Invocation.Deadline)
	c.Context = c.within
	return c
}

// Attempt counts the attempts of this step from 1.
func (c *ActivityContext) Attempt() int { return c.attempt.Invocation.Attempt }

// ExecutionID is the id of the execution that called the activity.
func (c *ActivityContext) ExecutionID() string { return c.attempt.Invocation.Execution }

// Namespace is the tenant of the execution.
func (c *ActivityContext) Namespace() string { return c.attempt.Invocation.Namespace }

// IdempotencyKey is the same for all attempts of this step, and different for every other step. Send it to services
// that detect repeated requests: if the outcome of an attempt is lost, the next attempt has the same key.
func (c *ActivityContext) IdempotencyKey() string { return c.attempt.Invocation.IdempotencyKey }

// Logger writes records of this execution to the host's log.
func (c *ActivityContext) Logger() *slog.Logger {
	return c.effects().logger()
}

// Config reads a value of the deployment's configuration.
func (c *ActivityContext) Config(name string) (string, bool) {
	return c.effects().config(name)
}

// Tx is the transaction of the activity. It begins with the first statement and commits together with the activity's
// result: either both are stored or neither. If the attempt fails, the transaction is rolled back.
func (c *ActivityContext) Tx() *Tx { return &Tx{effects: c.effects(), keep: &c.within.keep} }

// HTTP makes HTTP calls, to the hosts that the deployment was granted. It is refused once the transaction has begun:
// make HTTP calls before SQL.
func (c *ActivityContext) HTTP() *HTTPClient { return &HTTPClient{effects: c.effects()} }

func (c *ActivityContext) effects() effects { return effects{host: c.attempt.Host} }
