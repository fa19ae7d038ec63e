package host

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/control"
	"github.com/cruster/cruster/host/deploy"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/launch"
	"github.com/cruster/cruster/host/memory"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/host/schedule"
)

// Latest names the module that a deployment points at now, where a digest or the beginning of one is asked for.
const Latest = program.Latest

// The requests and answers of the rooms, for callers of the engine.
type (
	// AnswerPermit is the memory of an answer.
	AnswerPermit = memory.AnswerPermit
	// CheckRequest asks whether the open executions of a deployment would fit another module.
	CheckRequest = deploy.CheckRequest
	// CheckResult is the finding of the check for one execution.
	CheckResult = deploy.CheckResult
	// DeploymentInfo is a deployment with the self-description of its module.
	DeploymentInfo = catalog.DeploymentInfo
	// Description is the known state of an execution.
	Description = observe.Description
	// Diff shows, side by side, a journal and the behavior of other code on it.
	Diff = replay.Diff
	// EntityLock is a locked entity, with its waiters.
	EntityLock = control.EntityLock
	// EntityRequest asks for an operation of an entity.
	EntityRequest = control.EntityRequest
	// FollowEvent is an event of an execution.
	FollowEvent = observe.FollowEvent
	// FollowRequest says from where on to follow an execution.
	FollowRequest = observe.FollowRequest
	// ForkRequest says how to fork an execution.
	ForkRequest = launch.ForkRequest
	// IfFinished decides a start under the key of a finished run.
	IfFinished = abi.IfFinished
	// LockWaiter is a caller queued for the lock of an entity.
	LockWaiter = control.LockWaiter
	// Misfit is the error of a module that does not fit the journal of an execution: an *abi.Error
	// whose message shows both sides, and the sides themselves.
	Misfit = replay.MisfitError
	// Overloaded is the error of a host that is full.
	Overloaded = admission.Overloaded
	// ParkedMessage is a message of an entity that could not be performed.
	ParkedMessage = control.ParkedMessage
	// Patch is the decision of an execution about a change of the code that asks for it.
	Patch = observe.Patch
	// PendingOp is an op that was issued and not delivered.
	PendingOp = execution.PendingOp
	// Permit is a part of the memory of the host.
	Permit = memory.Permit
	// PushRequest uploads a module and points a deployment at it.
	PushRequest = catalog.PushRequest
	// QueryRequest asks a workflow a question.
	QueryRequest = control.QueryRequest
	// RestartRequest says how to run a finished execution again.
	RestartRequest = launch.RestartRequest
	// ScheduleDescription is a schedule with its next times.
	ScheduleDescription = schedule.Description
	// Settings is how a push changes the settings of its deployment.
	Settings = catalog.Settings
	// SignalRequest asks for a signal to be sent.
	SignalRequest = message.SignalRequest
	// StartRequest asks for an execution.
	StartRequest = launch.StartRequest
	// UpdateRequest asks a workflow for a change.
	UpdateRequest = control.UpdateRequest
)

// RetryDelay is the delay that an overloaded host asked for; 0 if err is something else.
func RetryDelay(err error) time.Duration { return admission.RetryDelay(err) }
