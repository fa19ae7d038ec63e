package abi

// IfFinished says what a start does if there is a run under its key that is over. One that is
// not over is found, whatever it says. Empty means [ReturnFinished].
type IfFinished string

const (
	// ReturnFinished answers with the run that is over.
	ReturnFinished IfFinished = "return"
	// RestartFinished starts a new run.
	RestartFinished IfFinished = "restart"
	// RestartFailed starts a new run, unless the one that is over has completed: then it answers
	// with that.
	RestartFailed IfFinished = "restart-failed"
	// RefuseFinished is an error of [CodeFinishedBefore].
	RefuseFinished IfFinished = "refuse"
)
