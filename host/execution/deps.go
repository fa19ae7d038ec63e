package execution

import (
	"context"
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/host/execution/task"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/hibernation"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/watch"
	"github.com/cruster/cruster/journal"
)

// Store is the part of the store that executions read: see [journal.Store]. They write through a
// [Committer].
type Store interface {
	Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error)
	Children(ctx context.Context, run journal.RunID, after journal.ID, limit int) ([]journal.Execution, error)
	Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error)
	FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (*journal.FoundMessage, error)
	Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error)
	Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error)
	Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error)
	journal.PublishedReader
	journal.EntryReader
	Brief(ctx context.Context, id journal.ID) (*journal.Execution, error)
	BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	Load(ctx context.Context, id journal.ID) (*journal.Execution, error)
	Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error)
}

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
	// Shares tells whether a write would share its commit with many others, so that it would cost less than as a part
	// of the transaction of an activity.
	Shares() bool
}

// Timers wakes executions: see host/timer.
type Timers interface {
	Set(id journal.ID, at int64)
	Leave(id journal.ID, at int64)
}

// Programs finds the code of executions: see [program.Programs].
type Programs interface {
	Open(ctx context.Context, row *journal.Execution) (Opening, error)
	Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error)
	CheckSignal(ctx context.Context, row *journal.Execution, name string, value []byte) ([]byte, error)
	Callee(
		ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
	) (*journal.Execution, error)
	Continuation(ctx context.Context, row *journal.Execution, input []byte) (journal.Continuation, error)
}

var _ Programs = (*program.Programs)(nil)

// Deps are the dependencies of executions.
type Deps struct {
	Activities Activities
	Clock      clockwork.Clock
	Committer  Committer
	// Delivering is the budget of large values on their way from the store to a guest: see
	// package largevalue. Defaults to as much as Queued.
	Delivering *budget.Budget
	// CompareRestored, if set, is handed the state of every restored guest, and the state of the
	// same guest replayed. It is for tests.
	CompareRestored func(restored, replayed *guest.Saved)
	Entities        Entities
	// EvictAlways drops the instance after every turn. It is for tests.
	EvictAlways bool
	Fault       faultpoint.Injector
	// Followers get the log lines of workflows; nil means that there are none.
	Followers *follow.List
	// Hibernation decides when the states of guests are saved.
	Hibernation hibernation.Policy
	// IdleTimeout is how long an instance stays warm without use.
	IdleTimeout time.Duration
	Host        *hoststate.State
	Logger      *slog.Logger
	// MaxActivities bounds the attempts of activities that run at the same time.
	MaxActivities int
	// MaxOutcomes is how many bytes of outcomes may wait for their delivery before no further attempt of an activity,
	// or read of an outcome, begins. 0 is no limit.
	MaxOutcomes int64
	// MaxEntries bounds a journal. Defaults to abi.MaxEntries.
	MaxEntries uint64
	// MaxInMemory bounds the executions in memory: see HasRoom. 0 is no limit.
	MaxInMemory int
	// Memory is the budget of instances.
	Memory *budget.Budget
	// NoHeadStarts has first turns wait until their start is durable. It is for tests.
	NoHeadStarts bool
	Programs     Programs
	// Queued is the budget of the ops that executions wait for, and of their inboxes. It is not Memory: an execution
	// holds it while activities that it waits for need instances.
	Queued *budget.Budget
	// Random yields numbers from 0 to 1, for jitter.
	Random     func() float64
	Registerer prometheus.Registerer
	Slots      *guest.Slots
	Store      Store
	Timers     Timers
	Watchers   *watch.List
}

// now is the wall clock, Unix nanoseconds.
func (d *Deps) now() int64 { return d.Clock.Now().UnixNano() }

// decider commits writes until it is decided whether they took effect.
func (d *Deps) decider() decide.Writer {
	return decide.Writer{Clock: d.Clock, Commit: d.Committer.Commit, Host: d.Host, Logger: d.Logger}
}

// Activities performs the attempts of activities.
type Activities = task.Activities

// ErrLeft says that an entity will send its answer, as the caller wanted to leave memory.
var ErrLeft = task.ErrLeft

// Entities performs the operations of executions on entities.
type Entities interface {
	task.Entities
	// Unlocked says that the section of a step has ended.
	Unlocked(step journal.Caller)
}

// Opener finds the code of an execution and tells how to make an instance of it: see [program.Programs.Open].
type Opener = instance.Opener

type (
	// Guest is the live instance of a workflow.
	Guest = instance.Guest
	// Opening is how to make an instance.
	Opening = instance.Opening
)
