package abi

import "time"

// Limits that are part of the contract: a host accepts up to the limit and refuses more.
const (
	// MaxBody bounds every body that crosses the boundary, in bytes.
	MaxBody = 4 << 20
	// MaxPayload bounds one value: a body that carries it must stay within MaxBody.
	MaxPayload = MaxBody - 64<<10
	// MaxDepth bounds the nesting of msgpack values.
	MaxDepth = 64
	// MaxName bounds the names of workflows, activities, deferreds, signals, entities and operations, in bytes.
	MaxName = 128
	// MaxKey bounds idempotency keys and activity keys, in bytes.
	MaxKey = 512
	// MaxOpsPerTurn bounds the ops that one turn may issue. The first interrupted of the turn does not count.
	MaxOpsPerTurn = 10_000
	// MaxEntries bounds the entries of a journal: an execution that has more is paused.
	MaxEntries = 250_000
	// ContinueEntries is from how many entries on the SDKs advise a workflow to continue as a new run. It is far below
	// the limit: the remains of a run are deleted when it continues.
	ContinueEntries = 10_000
	// MaxInbox bounds the messages that wait for an execution or entity.
	MaxInbox = 10_000
	// MaxHTTPAll bounds the requests of one [HTTPAll].
	MaxHTTPAll = 64
	// MaxReason bounds the reason of an interrupt, in bytes.
	MaxReason = 4096
	// MaxState bounds the state of an entity, in bytes: it crosses the boundary together with operations or with
	// their results.
	MaxState = 2 << 20
	// MaxBackoff caps the delay between two attempts of an activity.
	MaxBackoff = 60 * time.Second
	// DefaultBackoff is the first delay if a retry policy does not set one.
	DefaultBackoff = time.Second
)

// IsLong tells whether a journal of so many entries is near its limit: four fifths of it. Hosts warn
// from there on.
func IsLong(entries, limit uint64) bool { return entries >= limit-limit/5 }
