package abi

// Kinds of invocation, as in [Invocation.Kind].
const (
	// InvokeWorkflow runs a workflow: durable ops allowed, effects refused.
	InvokeWorkflow = "workflow"
	// InvokeActivity runs one attempt of an activity: effects allowed, durable
	// ops refused.
	InvokeActivity = "activity"
	// InvokeKey asks for the idempotency key of a request: neither is allowed.
	InvokeKey = "key"
)

// Invocation is the input of cruster_start.
//
// Fields of all bodies stand in alphabetical order of their wire names, so that
// what an SDK encodes field by field is canonical already.
type Invocation struct {
	// Attempt counts the attempts of an activity from 1; 0 for other kinds.
	Attempt int `msgpack:"attempt"`
	// Body is the request, one msgpack value.
	Body []byte `msgpack:"body"`
	// Execution is the id of the execution this belongs to; empty for keys.
	Execution string `msgpack:"execution"`
	// IdempotencyKey is stable over all attempts of one activity op; empty for
	// other kinds.
	IdempotencyKey string `msgpack:"idempotency_key"`
	// Kind is one of the Invoke constants.
	Kind string `msgpack:"kind"`
	// Name is the workflow or activity.
	Name string `msgpack:"name"`
	// Namespace is the tenant.
	Namespace string `msgpack:"namespace"`
	// Time is when the execution was started (workflow) or the attempt began
	// (activity), in Unix nanoseconds.
	Time int64 `msgpack:"time"`
}

// Resume is the input of cruster_resume: what one turn delivers, in the order
// of the journal.
type Resume struct {
	Deliveries []Delivery `msgpack:"deliveries"`
	// Time is the journal time of this turn in Unix nanoseconds; the clock shows
	// it until the next turn.
	Time int64 `msgpack:"time"`
}

// Delivery is the outcome of one op.
type Delivery struct {
	Error *Error `msgpack:"error"`
	Op    uint32 `msgpack:"op"`
	// Value is one msgpack value; it is set if Error is nil.
	Value []byte `msgpack:"value"`
}

// Outcome is what a guest hands over before it returns [StatusDone]: a value,
// one msgpack value, or an error.
type Outcome struct {
	Error *Error `msgpack:"error"`
	Value []byte `msgpack:"value"`
}
