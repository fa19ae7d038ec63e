package grpcserver

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// Engine is the part of an engine that the server needs, by its rooms. Errors that callers are to
// understand are *abi.Error; contexts end the waiting, never the work.
type Engine struct {
	Deployments Deployments
	Entities    Entities
	Executions  Executions
	Launcher    Launcher
	Maintenance Maintenance
	Memory      Memory
	Observer    Observer
	// Ready returns why the engine makes no progress, or nil if it does.
	Ready     func(ctx context.Context) error
	Schedules Schedules
}

// EngineOf is the part of the engine of a host.
func EngineOf(e *host.Engine) *Engine {
	return &Engine{
		Deployments: e.Deployments(),
		Entities:    e.Entities(),
		Executions:  e.Executions(),
		Launcher:    e.Launcher(),
		Maintenance: e.Maintenance(),
		Memory:      e.Memory(),
		Observer:    e.Observer(),
		Ready:       e.Ready,
		Schedules:   e.Schedules(),
	}
}

// Deployments pushes modules, and checks and describes deployments.
type Deployments interface {
	Push(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error)
	List(ctx context.Context, namespace string) ([]host.DeploymentInfo, error)
	Describe(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error)
	// Check tells which open executions of a deployment fit a module.
	Check(ctx context.Context, req host.CheckRequest, report func(result host.CheckResult, done, total int) error) error
}

// Entities performs requests to entities.
type Entities interface {
	// Operation finds an operation of a type of entity, "deployment/Name".
	Operation(ctx context.Context, namespace, entityType, operation string) (*abi.OperationInfo, error)
	// Call answers when the outcome is durable.
	Call(ctx context.Context, req host.EntityRequest) (abi.Outcome, error)
	// Send answers when the message is durable.
	Send(ctx context.Context, req host.EntityRequest) error
	State(ctx context.Context, namespace, entity string) (*journal.Entity, error)
	List(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error)
	// Destroy answers when the state is gone.
	Destroy(ctx context.Context, namespace, entity, requestID string) error
	Locks(ctx context.Context, f journal.LockFilter) (locks []host.EntityLock, after journal.ID, more bool, err error)
	// Unlock tells who held the lock.
	Unlock(ctx context.Context, namespace, entity string) (holder string, err error)
	Parked(ctx context.Context, f journal.ParkedFilter) ([]host.ParkedMessage, error)
	CountParked(ctx context.Context, namespace, entity string) (int, error)
	// RetryParked and DropParked take all messages if there are no positions, and tell how many.
	RetryParked(ctx context.Context, namespace, entity string, positions []uint64) (int, error)
	DropParked(ctx context.Context, namespace, entity string, positions []uint64) (int, error)
}

// Executions performs requests to executions.
type Executions interface {
	// Signal answers when the signal is durable.
	Signal(ctx context.Context, namespace, execution string, req host.SignalRequest) error
	// Query returns the workflow's answer.
	Query(ctx context.Context, namespace, execution string, req host.QueryRequest) ([]byte, error)
	// Update returns the workflow's answer, once it is durable.
	Update(ctx context.Context, namespace, execution string, req host.UpdateRequest) (abi.Outcome, error)
	Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error
	Interrupt(ctx context.Context, namespace, execution, reason string) error
	ResumeToStop(ctx context.Context, namespace, execution, reason string) error
	Terminate(ctx context.Context, namespace, execution, reason string) error
	Resume(ctx context.Context, namespace, execution string) error
	// Fail ends a paused execution for good.
	Fail(ctx context.Context, namespace, execution, reason string) error
	// Move has an open execution go on with another module, if that fits.
	Move(ctx context.Context, namespace, execution, to string) (*journal.Execution, error)
}

// Launcher starts executions.
type Launcher interface {
	Start(ctx context.Context, req host.StartRequest) (exec *journal.Execution, existed bool, err error)
	// Execute is Start, and answers when the execution is final or paused, or as it is after the wait.
	Execute(
		ctx context.Context, req host.StartRequest, wait time.Duration,
	) (exec *journal.Execution, existed bool, err error)
	// SignalWithStart starts the execution if it is not there, in the same commit.
	SignalWithStart(
		ctx context.Context, start host.StartRequest, signal host.SignalRequest,
	) (exec *journal.Execution, existed bool, err error)
	// Restart starts a new run of an execution whose run has ended.
	Restart(
		ctx context.Context, namespace, execution string, req host.RestartRequest,
	) (exec *journal.Execution, existed bool, err error)
	// Fork starts a new run from a beginning of the journal of an execution.
	Fork(ctx context.Context, namespace, execution string, req host.ForkRequest) (*journal.Execution, error)
}

// Maintenance deletes executions.
type Maintenance interface {
	// Delete deletes a finished run, or all of an execution.
	Delete(ctx context.Context, namespace, execution, run string) error
}

// Memory is the memory of the host.
type Memory interface {
	// UploadMemory is the memory budget of one upload.
	UploadMemory() host.Permit
}

// Observer reads executions. A run is named by its id; empty means the newest. An execution that is
// answered is a brief row.
type Observer interface {
	Poll(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	PollRun(ctx context.Context, namespace, execution, run string) (*journal.Execution, error)
	// WaitRun answers when the run is final or paused, or as it is after the wait.
	WaitRun(
		ctx context.Context, namespace, execution, run string, wait time.Duration,
	) (*journal.Execution, error)
	// Whole is the row with its input and its value.
	Whole(ctx context.Context, exec *journal.Execution) (*journal.Execution, error)
	DescribeRun(ctx context.Context, namespace, execution, run string) (*host.Description, error)
	// Deferred returns the settled value of a deferred.
	Deferred(ctx context.Context, of journal.Receiver, s *journal.Settlement) (*journal.Deferred, error)
	HistoryRun(
		ctx context.Context, namespace, execution, run string, after uint64, limit int,
	) (entries []journal.Entry, more bool, err error)
	List(ctx context.Context, f journal.Filter) (journal.Page, error)
	// Follow streams the events of an execution until it ends.
	Follow(
		ctx context.Context, namespace, execution string, req host.FollowRequest, tell func(host.FollowEvent) error,
	) error
	// Published returns the published values of an execution, possibly none.
	Published(ctx context.Context, row *journal.Execution) (*journal.Published, error)
	// Outlines returns the published values of the executions of a page, without their state.
	// Executions without any are left out.
	Outlines(ctx context.Context, page []journal.Execution) (map[journal.ID]*journal.Published, error)
	// RequireWorkflow refuses a workflow or deployment that there is not.
	RequireWorkflow(ctx context.Context, namespace, workflow string) error
	// WorkflowOf returns the declaration of an execution's workflow in its module.
	WorkflowOf(ctx context.Context, namespace, execution string) (*abi.WorkflowInfo, error)
}

// Schedules performs requests to schedules.
type Schedules interface {
	Create(ctx context.Context, s journal.Schedule) (*journal.Schedule, error)
	Update(ctx context.Context, s journal.Schedule) (*journal.Schedule, error)
	Describe(ctx context.Context, namespace, name string, upcoming int) (*host.ScheduleDescription, error)
	List(ctx context.Context, namespace, after string, limit int) ([]host.ScheduleDescription, error)
	Pause(ctx context.Context, namespace, name, note string) (*journal.Schedule, error)
	Resume(ctx context.Context, namespace, name, note string) (*journal.Schedule, error)
	Trigger(ctx context.Context, namespace, name, request string) (journal.ScheduleRun, error)
	Backfill(ctx context.Context, namespace, name string, from, to int64, overlap journal.Overlap) (int, error)
	Delete(ctx context.Context, namespace, name string) error
}
