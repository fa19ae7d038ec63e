package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// news is what others want an execution to know: a settlement, an interrupt, a message.
type news interface {
	// request is for the run, if it is in memory.
	request(reply chan<- error) notice
	// write is what makes it durable if it is not, given the row. A nil Write says that there
	// is nothing to do.
	write(ctx context.Context, x *Executions, row *journal.Execution) (*journal.Write, error)
	// answer is what the caller is told of a write that was committed.
	answer(res journal.Result, row *journal.Execution) error
	// points are those before and behind the commit.
	points() (before, after string)
}

// tell has an execution learn something, and returns once that is durable.
//
// A run that is in memory decides itself. One that is not is neither loaded nor replayed
// before the caller hears: on a host that is busy with recovery that waits for memory, and
// nothing of it is needed to write a row. Meanwhile the run is kept from being loaded: it
// would not know what is being written, and could overwrite the wake time that goes with it.
func (x *Executions) tell(ctx context.Context, ref Ref, n news) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	var reply <-chan error
	if x.runs.Claim(ref.ID) {
		told := x.tellAbsent(ctx, ref, n)
		x.runs.Unclaim(ref.ID, told.then...)
		if told.reply == nil {
			return told.err
		}
		reply = told.reply
	} else {
		var err error
		if reply, err = x.post(ctx, ref, n.request); err != nil {
			return err
		}
	}
	if _, ends := n.(terminateNews); ends {
		defer x.breakOffTurns(ref.ID)()
	}
	return x.await(ctx, ref, reply)
}

// told is what came of telling an execution that was not in memory.
type told struct {
	err   error
	then  []notice     // what it is to receive now
	reply <-chan error // if only the run can find out what is true: its answer
}

// tellAbsent tells an execution that was claimed.
func (x *Executions) tellAbsent(ctx context.Context, ref Ref, n news) told {
	var row *journal.Execution
	var err error
	f := guarded(func() {
		if row, err = x.Load(ctx, ref); err == nil {
			err = x.commitNews(ctx, row, n)
		}
	})
	if f != nil {
		x.Logger.Error("the host failed while it told an execution something", "execution", ref.Name, "fault", f.What)
		err = journal.ErrUndecided
	}
	_, ends := n.(terminateNews)
	switch {
	case row == nil && f != nil:
		return told{err: abi.Errorf(abi.CodeInternal, "the host failed while it looked for %s: %s", ref.Name, f.What)}
	case row == nil:
		return told{err: err}
	case errors.Is(err, journal.ErrUndecided):
		reply := make(chan error, 1)
		return told{then: []notice{again(row.Run, row.Chain, n.request(reply))}, reply: reply}
	case err == nil && (row.State == journal.Running || ends): // it tells its watchers
		return told{then: []notice{wake{}}}
	default:
		return told{err: err}
	}
}

// commitNews makes news durable.
func (x *Executions) commitNews(ctx context.Context, row *journal.Execution, n news) error {
	w, err := n.write(ctx, x, row)
	if err != nil || w == nil {
		return err
	}
	before, after := n.points()
	x.Fault.Pass(before)
	res, err := x.Committer.Commit(*w)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return anotherRun()
	case err != nil:
		return codedNews("tell "+row.Name(), row.Name(), err)
	}
	x.Fault.Pass(after)
	return n.answer(res, row)
}
