package host

import (
	"context"
	"errors"

	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// Latest names the module that a deployment points at now, where a digest is asked
// for.
const Latest = "latest"

// Diff shows, side by side, what a journal holds and what other code does with it.
type Diff = replay.Diff

// Move has a running or paused execution go on with another module: Latest, a digest
// or an unambiguous beginning of one. Its journal is replayed on that module first.
// If it does not fit, nothing is changed and the error (abi.CodeDoesNotFit) shows
// both sides; if it fits, the execution goes on there, also if it was paused.
func (e *Engine) Move(ctx context.Context, namespace, name, to string) (*journal.Execution, error) {
	return nil, errNotYet
}

// ForkRequest says how to fork an execution.
type ForkRequest struct {
	// At is the last entry of the journal that the fork takes over; 0 takes over
	// none.
	At uint64
	// To is the module, as in Move; empty means that of the original.
	To string
	// Key of the fork; empty makes one of the original's key.
	Key string
}

// Fork starts a new run from a beginning of the journal of another execution,
// whatever its state. What happened up to there is taken over, not repeated.
func (e *Engine) Fork(ctx context.Context, namespace, name string, req ForkRequest) (*journal.Execution, error) {
	return nil, errNotYet
}

// CheckRequest asks whether the open executions of a deployment would fit another
// module.
type CheckRequest struct {
	Namespace string
	// Name of the deployment.
	Name string
	// Binary is the module.
	Binary []byte
}

// CheckResult is what the check found for one execution.
type CheckResult struct {
	Execution *journal.Execution
	// Fits tells whether the execution could be moved to the module.
	Fits bool
	// Reason says in one line why not.
	Reason string
	// Diff shows it, if the journal and the code differ; nil otherwise.
	Diff *Diff
}

// Check replays every open execution of a deployment, running or paused, on a module
// that need not be deployed. It writes nothing. Report is called for one execution
// after the other, with how many are done and how many there are, as far as is known.
func (e *Engine) Check(ctx context.Context, req CheckRequest, report func(result CheckResult, done, total int) error) error {
	return errNotYet
}

var errNotYet = errors.New("not yet")
