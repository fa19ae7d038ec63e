// Package parked keeps messages that cannot be performed.
//
// # Messages that cannot be performed
//
// The sender of a message was told that it is durable, and does not wait: its failure reaches no caller.
// So a message that comes to no outcome is parked, by the commit that a call in its place would leave
// its error with: see journal/parked.go. An error that the operation returns is an outcome.
//
// A reason that is known to be the message's (its operation crashes, it does not decode, its receiver is
// full, its workflow is refused) parks it at once. A reason that may be the deployment's or the host's (there is
// no such type, the code cannot read the state, the host panics) is tried [MaxAttempts] times first: it
// concerns all messages of the entity, and often passes with the next push. Reasons that pass by the
// table of codes never park. A persisted call that a caller waits for, or waited for, fails where a message would be
// parked: its receipt is for the caller that repeats it.
package parked

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/guestlog"
	"github.com/cruster/cruster/journal"
)

// MaxAttempts is how often a message is tried that fails for a reason which does not pass by itself, and
// may not be its own. With the delays between them that is about half a minute.
const MaxAttempts = 10

// Of says why a message of an entity is parked.
func Of(ref target.Ref, position uint64, reason *abi.Error, now int64, attempts int) journal.Parked {
	return journal.Parked{
		Position:  position,
		Namespace: ref.Namespace,
		Type:      ref.Type,
		Key:       ref.Key,
		At:        now,
		Attempts:  attempts,
		Reason:    reason,
	}
}

// Log counts and logs parked messages.
type Log struct {
	Count  *prometheus.CounterVec
	Logger *slog.Logger
}

// Answer is the answer to the waiters of a message that was parked.
func (l *Log) Answer(id journal.ID, c *call.Call, reason *abi.Error) call.Answer {
	l.Add(id, c.Ref, c.Operation, reason)
	return call.Answer{Err: Error(c, reason), Parked: true}
}

// Error is the error of a call whose message is parked.
func Error(c *call.Call, reason *abi.Error) *abi.Error {
	err := abi.Errorf(
		abi.CodeParked, "%q of %s was not performed, and its message is parked: %s: %s", c.Operation, c.Ref,
		reason.Code, reason.Message,
	)
	err.Clamp()
	return err
}

// Add counts a message that was parked, and logs why.
func (l *Log) Add(id journal.ID, ref target.Ref, what string, reason *abi.Error) {
	l.Count.WithLabelValues(string(reason.Code)).Inc()
	l.Logger.Warn(
		"a message of an entity cannot be performed and is parked", "id", id, "entity", ref.String(), "namespace",
		ref.Namespace,
		"operation", what, "code", reason.Code, "error", guestlog.Error(reason),
	)
}
