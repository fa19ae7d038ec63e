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
