package journal

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
)

// RunID names one run of an execution. It is drawn at random when the run is started and never used
// again, while the name of an execution may be: once a run has ended, another can supersede it
// under its name. Whatever must tell the two apart hangs on the run id: random numbers, idempotency
// keys, links to callees, settlements.
type RunID [16]byte

// NewRunID draws a run id.
func NewRunID() RunID {
	var id RunID
	_, _ = rand.Read(id[:]) // it never fails
	return id
}

// IsZero tells whether id names no run.
func (id RunID) IsZero() bool { return id == RunID{} }

func (id RunID) String() string { return hex.EncodeToString(id[:]) }

// RunKey is the key of all rows that belong to a run, in every table except executions: its
// entries, links and saved state. The shared rows of a chain of runs, its inbox and its published
// values, go by the key of the first of them; the settlements of a run are in an inbox of its own.
//
// The rows of a run hang on nothing else. A run that takes the place of another finds none of the other's rows, and
// finds room for its own, whatever the other still has under way; and the commit that replaces a run costs the same,
// however long its journal is.
type RunKey struct {
	Shard Shard
	Run   RunID
}

// KeyOf is the key of a run of an execution.
func KeyOf(id ID, run RunID) RunKey { return RunKey{id.Shard(), run} }

// RunKey returns the key of the run's rows.
func (e *Execution) RunKey() RunKey { return KeyOf(e.ID, e.Run) }

// ChainKey returns the key of the rows that the run shares with the runs it continues.
func (e *Execution) ChainKey() RunKey { return KeyOf(e.ID, e.Chain) }

// Receiver is the inbox of the run.
func (e *Execution) Receiver() Receiver { return Receiver{e.ID, e.Chain} }

// StepID names a step of a run by its identity and by the number of equal ones before it. A change
// of the code that inserts or moves other steps leaves it as it is.
type StepID [16]byte

func (id StepID) String() string { return hex.EncodeToString(id[:]) }

// Step is the name of the op within its run. It is part of the format of journals: idempotency keys are made of it.
func (o Op) Step() StepID {
	h := sha256.New()
	text := func(s []byte) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(s)))
		h.Write(size[:])
		h.Write(s)
	}
	text([]byte("cruster step"))
	text([]byte(o.Kind))
	text([]byte(o.Name))
	text([]byte(o.Key))
	text(o.Hash)
	text(binary.BigEndian.AppendUint32(nil, o.Occurrence))
	return StepID(h.Sum(nil)[:16])
}

// Caller names a step of a run of an execution.
type Caller struct {
	ID   ID
	Run  RunID
	Step StepID
}

// IsZero tells whether c names no step.
func (c Caller) IsZero() bool { return c == Caller{} }

// Link records which execution a step found when it asked for one to be started. The step comes back to that one and to
// no other, also after retention has deleted it; and while the caller is not over, retention does not.
type Link struct {
	Step   StepID
	Callee ID
	// Chain is the callee's chain: the step comes back to it also if it has continued.
	Chain RunID
}

// Origin names the source of a settlement or of a message.
type Origin [16]byte

// NewOrigin draws the origin of a request from outside.
func NewOrigin() Origin { return Origin(NewRunID()) }

// OriginOfRequest returns the origin of a request from outside that its sender may repeat, and
// knows again by an id of its own.
func OriginOfRequest(id string) Origin {
	h := sha256.New()
	h.Write([]byte("cruster request"))
	h.Write([]byte(id))
	return Origin(h.Sum(nil)[:16])
}

// OriginOf returns the origin of a step: the same each time the step is performed.
func OriginOf(run RunID, step StepID) Origin {
	h := sha256.New()
	h.Write([]byte("cruster settlement"))
	h.Write(run[:])
	h.Write(step[:])
	return Origin(h.Sum(nil)[:16])
}

// OriginToStop returns the origin of a request to stop the runs of a chain: there is one of a kind
// at a time.
func OriginToStop(chain RunID, kind MessageKind) Origin {
	h := sha256.New()
	h.Write([]byte("cruster " + kind))
	h.Write(chain[:])
	return Origin(h.Sum(nil)[:16])
}

// Move is the value of a Moved entry.
type Move struct {
	// Declined are the ids of changes that the code asked for while it was replayed, behind which the run was already.
	// It does not take them. Every replay comes to that again; here it stands for people.
	Declined []string `msgpack:"declined,omitempty"`

	From string `msgpack:"from"`
	// Fork is the execution whose journal this one has taken over; empty if it is its own.
	Fork string `msgpack:"fork"`
	To   string `msgpack:"to"`
	// Waited are the steps that the code waits for after the move and that the run waited for before it. All others it
	// waits for begin with the move.
	Waited []StepID `msgpack:"waited"`
}

// CurrentFormat is the format of the journals that this version writes. All formats up to it can be
// replayed. It rises with any change that a guest can observe: the seeding of random numbers, the
// hashing of arguments, limits, the wording of refusals.
//
// Runs of format 1 initialise their module in their own world. Since format 2 they begin with the memory that
// initialisation leaves behind while the clock stands still, and only the random generators found in it follow the
// run's seed. Since format 3 the first wait for an interrupt in a turn does not count against the limit of ops of a
// turn. Since format 4 a turn is told how many entries the journal has.
const CurrentFormat = 4

// Pinned holds the inputs of a replay besides the module, the input and the entries, and the
// caller's options for the run. It is decided when a run is started and does not change, so that
// another host, with other settings, arrives at the same.
type Pinned struct {
	// Format of the journal.
	Format uint32 `msgpack:"format"`
	// Memory is how many bytes an instance may have.
	Memory uint64 `msgpack:"memory"`
	// OnCancel is the fate of the execution when the step that started it is given up: one of abi.OnCancelCancel,
	// abi.OnCancelTerminate, and empty if nothing does.
	OnCancel string `msgpack:"on_cancel,omitempty"`
	// ReplyTo is the chain of the parent that waits for the result, if it does.
	ReplyTo *RunID `msgpack:"reply_to,omitempty"`
	// Seed of the random numbers: the run id, or the id of the run it was forked off.
	Seed RunID `msgpack:"seed"`
	// Time is the clock's reading at the start.
	Time int64 `msgpack:"time"`
	// Unread names signals that the run before this one, which it continues, was given and has not looked at: one of
	// each is in the inbox when this run begins.
	Unread []string `msgpack:"unread,omitempty"`
}

// Waiting is the set of steps that a run awaited at a point of its journal. A replay that comes to
// this point and waits for something else has diverged, even if no delivery shows it.
type Waiting struct {
	// Seq is the last entry that the run had seen.
	Seq uint64 `msgpack:"seq"`
	// Steps is the sum of the steps it waited for; zero says that nothing is known.
	Steps StepSum `msgpack:"steps"`
	// List names the steps, if they are few.
	List []StepID `msgpack:"list"`
}

// MaxListed is how many steps Waiting lists at most.
const MaxListed = 8

// WaitingFor returns the Waiting of a run that has seen the entries up to seq.
func WaitingFor(seq uint64, steps []StepID) Waiting {
	w := Waiting{Seq: seq}
	for _, step := range steps {
		w.Steps.Add(step)
	}
	if len(steps) <= MaxListed {
		w.List = slices.Clone(steps)
		slices.SortFunc(w.List, func(a, b StepID) int { return bytes.Compare(a[:], b[:]) })
	}
	return w
}

// StepSum is a sum over a set of steps. Equal sets have equal sums, in whatever order they are added.
type StepSum [16]byte

// Add adds a step, or takes it out again: each is its own inverse.
func (s *StepSum) Add(step StepID) {
	for i := range s {
		s[i] ^= step[i]
	}
}
