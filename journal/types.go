package journal

import (
	"math"

	"github.com/cruster/cruster/abi"
)

// State of an execution.
type State string

// The states. Completed, failed and interrupted are final.
const (
	Running     State = "running"
	Paused      State = "paused"
	Completed   State = "completed"
	Failed      State = "failed"
	Interrupted State = "interrupted"
)

// Final tells whether nothing will ever change again.
func (s State) Final() bool { return s == Completed || s == Failed || s == Interrupted }

// DefaultNamespace is the one of requests that name none.
const DefaultNamespace = "default"

// Times are Unix nanoseconds.
const (
	// Now as a wake time: the owner of the shard loads the execution at once.
	Now int64 = 0
	// Never as a wake time: only a signal from outside wakes the execution.
	Never int64 = math.MaxInt64
)

// Execution is the row of one run of one workflow.
type Execution struct {
	ID ID
	// Run tells this run from others that had, or will have, the same name.
	Run       RunID
	Namespace string
	// Workflow is the type: "deployment/Name".
	Workflow string
	Key      string
	// Digest pins the module.
	Digest string
	// MovedAt is the last Moved entry; 0 if there is none. Entries up to it were delivered to other
	// code than Digest's, and are matched by their identity alone.
	MovedAt uint64
	// Input is the request, canonical msgpack.
	Input []byte

	State State
	// Value is the result of a completed execution, canonical msgpack.
	Value []byte
	// Error says why an execution failed, was interrupted or is paused.
	Error *abi.Error
	// WakeAt is when an owner that does not hold the execution in memory must load it. It may be too early, never too
	// late. Meaningful while Running.
	WakeAt int64
	// Interrupt is the request to stop, if there was one.
	Interrupt *Interrupt

	// Section is the step by which the run is in a critical section; zero if it is in none. The
	// step's locks hold for as long as it stands here: see [Lock].
	Section StepID
	// Chain is the id of the first of the runs that continued each other; for a run that continues
	// none it is its own. Waiters for the execution go by it.
	Chain RunID
	// Continued counts the runs of the chain before this one.
	Continued uint32
	// Superseded is 0 for the current run of the execution. The runs whose place others have taken are counted from 1.
	Superseded uint64
	// Request is the origin of the request for the run, if that may be repeated; else zero.
	Request Origin

	// Arrivals counts the messages that the runs of the execution have received: see [Write.Receive].
	Arrivals uint64
	// Waiting is the set of steps that the run awaited at a point of its journal. Entries behind
	// that point may know more.
	Waiting Waiting
	// Parent is the step that started this execution; zero if none did.
	Parent Caller
	// Pinned holds the inputs of a replay besides the module, the input and the entries.
	Pinned Pinned

	CreatedAt  int64
	FinishedAt int64 // 0 while not final

	// LeftOut tells how large the input and the value are that a brief row is without.
	LeftOut Sizes
}

// Sizes are the bytes of an input and of a value.
type Sizes struct{ Input, Value int }

// MaxBrief is the size up to which a brief row has its input and its value.
const MaxBrief = 4 << 10

// Brief is a row without its input and its value if they are large. Many rows may be in memory at the same time; their
// payloads may not.
func (e *Execution) Brief() *Execution {
	brief := *e
	if n := len(e.Input); n > MaxBrief {
		brief.Input, brief.LeftOut.Input = nil, n
	}
	if n := len(e.Value); n > MaxBrief {
		brief.Value, brief.LeftOut.Value = nil, n
	}
	return &brief
}

// Interrupt is a request to stop.
type Interrupt struct {
	At int64 `msgpack:"at"`
	// GivenUp says that it came from the caller, which does not wait for the result any more.
	GivenUp bool   `msgpack:"given_up,omitempty"`
	Reason  string `msgpack:"reason"`
}

// EntryKind is the kind of event that an entry records.
type EntryKind string

const (
	// Delivery records that the outcome of an op was handed to the guest.
	Delivery EntryKind = "delivery"
	// Moved records that the execution goes on with another module from here on: its Value is a [Move]. The part of the
	// journal before it was delivered to other code.
	Moved EntryKind = "moved"
	// Attempt records that an attempt of an activity failed and another will follow at NextAt. It is never handed to
	// the guest.
	Attempt EntryKind = "attempt"
	// Void takes the place of a transaction whose commit was in doubt, so that it cannot take effect any more: a
	// sequence number is used once. It is never handed to the guest.
	Void EntryKind = "void"
	// Lost records that an attempt of an activity begins because a host ended during the one before, and that one never
	// came back. Attempts is how many were lost like that, one after the other. It is never handed to the guest.
	Lost EntryKind = "lost"
	// Released records that no attempt is under way that could be lost: the host gave it up because it was told to
	// stop, or the execution was paused because too many were lost. Attempts is how many were lost before that, and
	// still count.
	Released EntryKind = "released"
)

// Op names an op: its identity is its content, not its place.
type Op struct {
	// Hash of the canonical arguments, 16 bytes; empty if Key is set.
	Hash []byte `msgpack:"hash"`
	// Key is the explicit key, if the guest gave one.
	Key  string `msgpack:"key"`
	Kind string `msgpack:"kind"`
	Name string `msgpack:"name"`
	// Number is the position in the order of issue, from 1. It shifts when code changes, so nothing outside of the run
	// goes by it.
	Number uint32 `msgpack:"number"`
	// Occurrence counts the ops of the same identity in the order of issue, from 1.
	Occurrence uint32 `msgpack:"occurrence"`
}

// Entry is one record of a journal. A store keeps its encoding, canonical msgpack of these fields:
// see golden journals in testdata.
type Entry struct {
	// At is the journal time of the entry.
	At int64 `msgpack:"at"`
	// Attempts is how many attempts of an activity there were so far.
	Attempts uint32     `msgpack:"attempts"`
	Error    *abi.Error `msgpack:"error"`
	Kind     EntryKind  `msgpack:"kind"`
	// NextAt is when the next attempt is due, for Attempt entries.
	NextAt int64 `msgpack:"next_at"`
	Op     Op    `msgpack:"op"`
	// Seq orders the entries of an execution. It is assigned by the owner, ascends, and may have gaps where a
	// transaction did not commit.
	Seq uint64 `msgpack:"seq"`
	// Turn groups deliveries that were handed over together.
	Turn  uint64 `msgpack:"turn"`
	Value []byte `msgpack:"value"`
	// Waiting is the set of steps that the run awaited once it had seen this entry, if that was
	// known when it was written: the last of a turn that changed nothing else in the row.
	Waiting *Waiting `msgpack:"waiting,omitempty"`
}

// Module is a Wasm binary.
type Module struct {
	Digest    string
	Binary    []byte
	Manifest  []byte
	CreatedAt int64
}

// Deployment is a name for a module, with its settings.
type Deployment struct {
	Namespace string
	Name      string
	Digest    string
	// Version counts the pushes under this name, from 1.
	Version   int64
	Config    map[string]string
	AllowHTTP []string
	UpdatedAt int64
}

// Shard is the shard whose owner decides about the deployment.
func (d *Deployment) Shard() Shard { return IDOf(d.Namespace, "", d.Name).Shard() }

// Wake is an execution that is due at a time.
type Wake struct {
	ID ID
	At int64
}
