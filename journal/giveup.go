package journal

import "context"

// # Giving up
//
// A run that stops waiting for what a step of its has started may owe it something: to be asked
// to stop, or to be ended. Who is given up on lies in another shard, and its owner decides
// about it. So the commit by which the run gives up does not touch it. It leaves a row of
// the run's own, that of a [GiveUp], and the row stays until the host has done what is owed.
//
// What is true:
//
//  1. The row is durable with the turn that gave up, or neither is.
//  2. It is dropped only once no start by this step can come any more, and what the step
//     had started by then is over, or has been asked to stop or ended, durably.
//  3. It does not hang on its run: a run that is over, that has continued or that retention has
//     deleted leaves its rows behind.
//
// The alternative, to write the rows of the others in the commit of the run, would have the
// owner of one shard write what the owner of another decides by. An owner that has the other
// in memory would overwrite its wake time, or its end, without having seen it.

// GiveUp says that a run does not wait any more for what a step has started; or, if Step is
// zero, for anything that its steps have started.
type GiveUp struct {
	Step StepID
	At   int64
	// Reason is told to whom is given up on.
	Reason string
}

// GivenUp is a GiveUp with its run.
type GivenUp struct {
	ID  ID
	Run RunID
	GiveUp
}

// Caller is the step that has been given up; it has no Step if all have.
func (g *GivenUp) Caller() Caller { return Caller{ID: g.ID, Run: g.Run, Step: g.Step} }

// GivenUpStore keeps what is owed to those that were given up on. Commits add to it.
type GivenUpStore interface {
	// GivenUp lists what has been given up in the order of (ID, Run, Step), at most limit,
	// that come behind after: pass the last one of the page before, or the zero Caller.
	GivenUp(ctx context.Context, after Caller, limit int) ([]GivenUp, error)
	// DropGivenUp deletes those of these steps of a run that are there. It names the fence of
	// the run's shard: if that is not the current one, the answer is ErrFenced and nothing is
	// changed.
	DropGivenUp(ctx context.Context, f Fence, id ID, run RunID, steps []StepID) error
	// Children lists the executions that steps of a run have started and that are not over, in
	// the order of their ids, at most limit, that come behind after.
	Children(ctx context.Context, run RunID, after ID, limit int) ([]Execution, error)
}
