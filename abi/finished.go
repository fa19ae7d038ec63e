package abi

// IfFinished is the policy of a start for a finished run under its key. A run that has not finished is found, whatever
// the policy. Empty means [ReturnFinished].
type IfFinished string

const (
	// ReturnFinished answers with the finished run.
	ReturnFinished IfFinished = "return"
	// RestartFinished starts a new run.
	RestartFinished IfFinished = "restart"
	// RestartFailed starts a new run, unless the ended run has completed: then it answers
	// with that run.
	RestartFailed IfFinished = "restart-failed"
	// RefuseFinished is an error of [CodeFinishedBefore].
	RefuseFinished IfFinished = "refuse"
)
