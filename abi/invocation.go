package abi

import "time"

// Kinds of invocation, as in [Invocation.Kind].
const (
	// InvokeWorkflow runs a workflow. It may issue durable ops; immediate calls are refused.
	InvokeWorkflow = "workflow"
	// InvokeActivity runs one attempt of an activity. It may make immediate calls; durable ops are refused.
	InvokeActivity = "activity"
	// InvokeKey asks for the idempotency key of a request. Durable ops and immediate calls are refused.
	InvokeKey = "key"
	// InvokeCall runs one operation of an entity without a state: its body is an [EntityCall]. It may make immediate
	// calls; durable ops are refused.
	InvokeCall = "call"
	// InvokeOperations runs operations of an entity with a state: its body is an [Operations], its result an
	// [OperationsReply]. Of the immediate calls it may make [ImportConfig]; durable ops are refused.
	InvokeOperations = "operations"
)

// Invocation is the input of cruster_start.
//
// The fields of every body are in alphabetical order of their wire names, so that an SDK that encodes field by field
// produces the canonical form.
type Invocation struct {
	// Attempt counts the attempts of an activity from 1; 0 for other kinds.
	Attempt int `msgpack:"attempt"`
	// Body is the request, one msgpack value.
	Body []byte `msgpack:"body"`
	// Deadline is a little before the host ends the attempt of an activity or the call of an entity
	// without a state, in Unix nanoseconds, if its clock goes on undisturbed; 0 for other kinds.
	Deadline int64 `msgpack:"deadline"`
	// Execution is the id of the execution that this invocation is part of, or the name of the entity; empty for keys.
	Execution string `msgpack:"execution"`
	// IdempotencyKey is stable over all attempts of one activity op, or of one call that is persisted; empty for
	// others.
	IdempotencyKey string `msgpack:"idempotency_key"`
	// Kind is one of the Invoke constants.
	Kind string `msgpack:"kind"`
	// Name is the workflow, activity or entity.
	Name string `msgpack:"name"`
	// Namespace is the tenant.
	Namespace string `msgpack:"namespace"`
	// Seed of the random numbers of a workflow: the same on every replay of a run, another for every other run. Empty
	// for other kinds.
	Seed []byte `msgpack:"seed"`
	// Time is when the execution was started (workflow), or the attempt or call began, in Unix nanoseconds.
	Time int64 `msgpack:"time"`
	// Unread names signals that the run whose place this one takes was given and has not looked at: see [Continue]. One
	// of each is there to be received. Nil for all others.
	Unread []string `msgpack:"unread"`
}

// Resume is the input of cruster_resume: the deliveries of one turn, in the order of the journal.
type Resume struct {
	Deliveries []Delivery `msgpack:"deliveries"`
	// Entries is how many entries the journal has with these deliveries: the number of the last of them. Attempts that
	// failed count too. It is the same on every replay.
	Entries uint64 `msgpack:"entries"`
	// Time is the journal time of this turn in Unix nanoseconds. The workflow's clock shows it until the next turn.
	Time int64 `msgpack:"time"`
}

// Query is the input of cruster_query: a question to a workflow that waits, asked of a copy of its instance.
type Query struct {
	Input []byte `msgpack:"input"`
	Name  string `msgpack:"name"`
	// Update says that Name is an update, and asks whether the workflow would refuse it now: the answer is nil, or the
	// error that it would be refused with.
	Update bool `msgpack:"update"`
}

// Delivery is the outcome of one op.
type Delivery struct {
	Error *Error `msgpack:"error"`
	Op    uint32 `msgpack:"op"`
	// Value is one msgpack value; it is set if Error is nil.
	Value []byte `msgpack:"value"`
}

// Outcome is the result that a guest hands over before it returns [StatusDone]: a value, one msgpack value, or an
// error.
type Outcome struct {
	// Continue ends the run of a workflow and has another take its place; Error and Value are nil then.
	Continue *Continue `msgpack:"continue"`
	Error    *Error    `msgpack:"error"`
	Value    []byte    `msgpack:"value"`
}

// Continue ends a run and begins a new one of the same name, with an empty journal. The new run has its unread messages
// and its published values.
type Continue struct {
	Input []byte `msgpack:"input"`
	// Unread names the signals whose last delivery the run has not looked at: the host still has it, and delivers it to
	// the new run. See [Receive].
	Unread []string `msgpack:"unread"`
}

// DeadlineOf is the deadline that the code of an attempt is told: a little before the host ends the attempt, so that
// code that stops at its deadline still returns its result. Otherwise the two would race.
func DeadlineOf(began time.Time, limit time.Duration) time.Time {
	return began.Add(limit - min(limit/10, 100*time.Millisecond))
}
