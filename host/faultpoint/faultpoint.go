package faultpoint

// The points at which a crash could tear something.
const (
	// A start was validated; nothing is durable.
	StartBeforeCommit = "start.before-commit"
	// A start is durable; its caller has not been told.
	StartAfterCommit = "start.after-commit"
	// A run is to take the place of an ended one; nothing is durable.
	RestartBeforeCommit = "restart.before-commit"
	// A run has taken the place of an ended one; its caller has not been told.
	RestartAfterCommit = "restart.after-commit"
	// A finished run is to be deleted.
	DeleteBeforeCommit = "delete.before-commit"
	// A finished run is gone; its caller has not been told.
	DeleteAfterCommit = "delete.after-commit"
	// The guest saw deliveries that are not durable.
	TurnBeforeCommit = "turn.before-commit"
	// Deliveries and their consequences are durable; no effect left yet.
	TurnAfterCommit = "turn.after-commit"
	// The ops of a turn were handed out.
	TurnAfterEffects = "turn.after-effects"
	// A run is to go on as another one; nothing is durable.
	ContinueBeforeCommit = "continue.before-commit"
	// Another run has taken the place of one; it has not begun.
	ContinueAfterCommit = "continue.after-commit"
	// The result is durable; no client has been told.
	FinalAfterCommit = "final.after-commit"
	// An attempt of an activity is about to run.
	ActivityBefore = "activity.before"
	// An attempt has run; its outcome has not left it.
	ActivityAfter = "activity.after"
	// An attempt failed; its retry is not durable.
	RetryBeforeCommit = "retry.before-commit"
	// The retry is durable; its timer is not set.
	RetryAfterCommit = "retry.after-commit"
	// SQL and journal entry stand in an open transaction.
	TxBeforeCommit = "tx.before-commit"
	// SQL and journal entry are durable; the execution has not been told.
	TxAfterCommit = "tx.after-commit"
	// The guest saw the entry of a transaction that is open still.
	AheadBeforeCommit = "ahead.before-commit"
	// SQL, entry and the effects of the entry are durable; no effect left yet.
	AheadAfterCommit = "ahead.after-commit"
	// A deferred is to be settled; nothing is durable.
	SettleBeforeCommit = "settle.before-commit"
	// A deferred is settled; its execution has not been told.
	SettleAfterCommit = "settle.after-commit"
	// A signal was sent; nothing is durable.
	SignalBeforeCommit = "signal.before-commit"
	// A signal is in the inbox; its execution has not been told.
	SignalAfterCommit = "signal.after-commit"
	// An update was checked; nothing is durable.
	UpdateBeforeCommit = "update.before-commit"
	// An update is in the inbox; its execution has not been told.
	UpdateAfterCommit = "update.after-commit"
	// A workflow has answered an update; nothing of that is durable.
	AnswerBeforeCommit = "answer.before-commit"
	// The answer to an update is durable; its callers have not been told.
	AnswerAfterCommit = "answer.after-commit"
	// A timer fired; its execution has not been told.
	TimerFired = "timer.fired"
	// A child is to be started.
	CallBefore = "call.before"
	// A child was started; its parent does not know.
	CallAfter = "call.after"
	// A move fits; nothing is durable.
	MoveBeforeCommit = "move.before-commit"
	// A move is durable; the execution runs on the old module still.
	MoveAfterCommit = "move.after-commit"
	// A fork fits; nothing is durable.
	ForkBeforeCommit = "fork.before-commit"
	// A fork is durable; its caller has not been told.
	ForkAfterCommit = "fork.after-commit"
	// A child was found that another caller had started; the parent is not linked.
	LinkBeforeCommit = "link.before-commit"
	// The link is durable; the parent does not know.
	LinkAfterCommit = "link.after-commit"
	// The shards are about to be claimed; the owner before this one still writes.
	ClaimBeforeCommit = "claim.before-commit"
	// The shards are claimed; nothing has been recovered.
	ClaimAfterCommit = "claim.after-commit"
	// A module was validated and compiled; nothing is stored.
	DeployBeforeCommit = "deploy.before-commit"
	// Module, deployment and migrations are durable; the caller has not been told.
	DeployAfterCommit = "deploy.after-commit"
	// An execution is to be asked to stop, or to be ended; nothing is durable.
	InterruptBeforeCommit = "interrupt.before-commit"
	// The request is durable; its execution and its caller have not been told.
	InterruptAfterCommit = "interrupt.after-commit"
	// The callees of calls that are given up were found; nothing is durable.
	GiveUpBefore = "give-up.before"
	// Calls were given up, durably, and their callees are to stop; they have not been told.
	GiveUpAfter = "give-up.after"
	// An execution is about to end because of a request; its end is not durable.
	TerminateBeforeCommit = "terminate.before-commit"
	// An execution has ended because of a request; its watchers have not been told.
	TerminateAfterCommit = "terminate.after-commit"
	// An execution cannot go on; nothing says so yet.
	PauseBeforeCommit = "pause.before-commit"
	// An execution is paused; its watchers have not been told.
	PauseAfterCommit = "pause.after-commit"
	// A paused execution is to go on; nothing is durable.
	ResumeBeforeCommit = "resume.before-commit"
	// A paused execution may go on; it has not been loaded.
	ResumeAfterCommit = "resume.after-commit"
	// An operator fails a paused execution; nothing is durable.
	FailBeforeCommit = "fail.before-commit"
	// The failure is durable; watchers and the operator have not been told.
	FailAfterCommit = "fail.after-commit"
	// A page of finished executions is about to be deleted.
	SweepBeforeCommit = "sweep.before-commit"
	// A page of finished executions is gone.
	SweepAfterCommit = "sweep.after-commit"
	// Rows of runs that are gone are about to be deleted.
	PurgeBeforeCommit = "purge.before-commit"
	// Rows of runs that are gone are deleted; there may be more.
	PurgeAfterCommit = "purge.after-commit"
	// A schedule is about to start an execution; nothing is durable.
	ScheduleBeforeStart = "schedule.before-start"
	// The execution of a schedule is durable; the schedule does not know of it.
	ScheduleAfterStart = "schedule.after-start"
	// A schedule has moved on; nothing says so.
	ScheduleBeforeCommit = "schedule.before-commit"
	// A schedule has moved on; its waiters have not been told.
	ScheduleAfterCommit = "schedule.after-commit"
	// Operations of an entity have run; nothing of them is durable.
	EntityBeforeCommit = "entity.before-commit"
	// The state of an entity, its receipts and its messages are durable; no caller has been told, and no receiver
	// woken.
	EntityAfterCommit = "entity.after-commit"
	// A message for an entity was checked; nothing is durable.
	EntityReceiveBefore = "entity.receive.before"
	// The message is durable; neither its sender nor the entity has been told.
	EntityReceiveAfter = "entity.receive.after"
	// The run that locks an entity is in its section; nothing of the lock is durable.
	LockBeforeCommit = "lock.before-commit"
	// The lock is durable; its run has not been told.
	LockAfterCommit = "lock.after-commit"
	// A run ends its critical section; nothing is durable.
	ReleaseBeforeCommit = "release.before-commit"
	// The section has ended; the entities that it has locked have not been told.
	ReleaseAfterCommit = "release.after-commit"
	// An instance is about to be dropped.
	Evict = "evict"
	// A replay is under way.
	Replay = "replay"
)

// Points lists them all.
var Points = []string{
	StartBeforeCommit, StartAfterCommit, RestartBeforeCommit, RestartAfterCommit, DeleteBeforeCommit, DeleteAfterCommit,
	ContinueBeforeCommit, ContinueAfterCommit,
	TurnBeforeCommit, TurnAfterCommit, TurnAfterEffects,
	FinalAfterCommit,
	ActivityBefore, ActivityAfter,
	RetryBeforeCommit, RetryAfterCommit,
	TxBeforeCommit, TxAfterCommit, AheadBeforeCommit, AheadAfterCommit,
	SettleBeforeCommit, SettleAfterCommit,
	SignalBeforeCommit, SignalAfterCommit,
	UpdateBeforeCommit, UpdateAfterCommit, AnswerBeforeCommit, AnswerAfterCommit,
	TimerFired,
	MoveBeforeCommit, MoveAfterCommit, ForkBeforeCommit, ForkAfterCommit,
	CallBefore, CallAfter, LinkBeforeCommit, LinkAfterCommit,
	ClaimBeforeCommit, ClaimAfterCommit,
	DeployBeforeCommit, DeployAfterCommit,
	InterruptBeforeCommit, InterruptAfterCommit,
	GiveUpBefore, GiveUpAfter, TerminateBeforeCommit, TerminateAfterCommit,
	PauseBeforeCommit, PauseAfterCommit,
	ResumeBeforeCommit, ResumeAfterCommit,
	FailBeforeCommit, FailAfterCommit,
	SweepBeforeCommit, SweepAfterCommit, PurgeBeforeCommit, PurgeAfterCommit,
	ScheduleBeforeStart, ScheduleAfterStart, ScheduleBeforeCommit, ScheduleAfterCommit,
	EntityBeforeCommit, EntityAfterCommit, EntityReceiveBefore, EntityReceiveAfter,
	LockBeforeCommit, LockAfterCommit, ReleaseBeforeCommit, ReleaseAfterCommit,
	Evict, Replay,
}

// Injector is called as the engine passes a point. A nil Injector does nothing.
type Injector func(point string)

// Pass tells the injector, if there is one, that the engine has reached a point.
func (in Injector) Pass(point string) {
	if in != nil {
		in(point)
	}
}
