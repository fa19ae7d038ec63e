package host

// Fault points: the boundaries at which a crash could tear something. Tests
// enumerate them all, crash the engine at each, and compare with an undisturbed
// run.
const (
	// A start was validated; nothing is durable.
	FaultStartBeforeCommit = "start.before-commit"
	// A start is durable; its caller has not heard.
	FaultStartAfterCommit = "start.after-commit"
	// The guest saw deliveries that are not durable.
	FaultTurnBeforeCommit = "turn.before-commit"
	// Deliveries and their consequences are durable; no effect left yet.
	FaultTurnAfterCommit = "turn.after-commit"
	// The ops of a turn were handed out.
	FaultTurnAfterEffects = "turn.after-effects"
	// The result is durable; no client has heard.
	FaultFinalAfterCommit = "final.after-commit"
	// An attempt of an activity is about to run.
	FaultActivityBefore = "activity.before"
	// An attempt has run; its outcome is known to nobody.
	FaultActivityAfter = "activity.after"
	// An attempt failed; its retry is not durable.
	FaultRetryBeforeCommit = "retry.before-commit"
	// The retry is durable; its timer is not set.
	FaultRetryAfterCommit = "retry.after-commit"
	// SQL and journal entry stand in an open transaction.
	FaultTxBeforeCommit = "tx.before-commit"
	// SQL and journal entry are durable; the run has not heard.
	FaultTxAfterCommit = "tx.after-commit"
	// A deferred is to be settled; nothing is durable.
	FaultSettleBeforeCommit = "settle.before-commit"
	// A deferred is settled; its execution has not heard.
	FaultSettleAfterCommit = "settle.after-commit"
	// A timer fired; its execution has not heard.
	FaultTimerFired = "timer.fired"
	// A child is to be started.
	FaultCallBefore = "call.before"
	// A child was started; its parent does not know.
	FaultCallAfter = "call.after"
	// An instance is about to be dropped.
	FaultEvict = "evict"
	// A replay is under way.
	FaultReplay = "replay"
)

// FaultPoints lists them all.
var FaultPoints = []string{
	FaultStartBeforeCommit, FaultStartAfterCommit,
	FaultTurnBeforeCommit, FaultTurnAfterCommit, FaultTurnAfterEffects,
	FaultFinalAfterCommit,
	FaultActivityBefore, FaultActivityAfter,
	FaultRetryBeforeCommit, FaultRetryAfterCommit,
	FaultTxBeforeCommit, FaultTxAfterCommit,
	FaultSettleBeforeCommit, FaultSettleAfterCommit,
	FaultTimerFired,
	FaultCallBefore, FaultCallAfter,
	FaultEvict, FaultReplay,
}

// fault passes a fault point.
func (e *Engine) fault(point string) {
	if e.cfg.FaultPoint != nil {
		e.cfg.FaultPoint(point)
	}
}
