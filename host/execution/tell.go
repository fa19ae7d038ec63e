package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// news is what others want an execution to know: a settlement, a message. There is one way for both: what is known of the
// execution says what is written, the write is committed, and a run in memory learns of it.
type news interface {
	// write is what makes it durable. A nil Write says that there is nothing to do.
	write(ctx context.Context, x *Executions, k knowledge) (*journal.Write, error)
	// answer is what the caller is told of a write that was committed.
	answer(res journal.Result, row *journal.Execution) error
	// learned lets a run know what is durable now, and is called if the answer is not an error.
	learned(r *run, w *journal.Write, res journal.Result)
	// points are those before and behind the commit.
	points() (before, after string)
	// doing says what is being done, for the log.
	doing() string
}

// knowledge is what is known of an execution when it is told something: by the run, if that is in memory, or from
// the store.
type knowledge struct {
	row      *journal.Execution
	settled  func() (*settlements, error)
	awaiters func() ([]journal.Envelope, error)
}

// stored is what the store has of an execution.
func (x *Executions) stored(ctx context.Context, row *journal.Execution) knowledge {
	return knowledge{
		row: row,
		settled: func() (*settlements, error) {
			list, err := journal.ListSettlements(ctx, x.Store, row.Settlements())
			if err != nil {
				return nil, journal.Coded("read the deferreds of "+row.Name(), err)
			}
			settled := newSettlements()
			settled.set(row.Settlements(), list)
			return &settled, nil
		},
		awaiters: func() ([]journal.Envelope, error) {
			inbox, err := x.Store.Inbox(ctx, row.Receiver(), 0)
			if err != nil {
				return nil, journal.Coded("read the inbox of "+row.Name(), err)
			}
			var l ledger
			l.open(inbox)
			return l.awaited, nil
		},
	}
}

// known is what the run knows itself.
func (r *run) known() knowledge {
	return knowledge{
		row:      r.row,
		settled:  func() (*settlements, error) { return &r.deferreds, nil },
		awaiters: func() ([]journal.Envelope, error) { return r.awaited(), nil },
	}
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
		if reply, err = x.post(ctx, ref, func(reply chan<- error) notice { return newsRequest{n, reply} }); err != nil {
			return err
		}
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
			_, _, err = x.commitNews(ctx, x.stored(ctx, row), n)
		}
	})
	if f != nil {
		x.Logger.Error("the host failed while it told an execution something", "execution", ref.Name, "fault", f.What)
		err = journal.ErrUndecided
	}
	switch {
	case row == nil && f != nil:
		return told{err: abi.Errorf(abi.CodeInternal, "the host failed while it looked for %s: %s", ref.Name, f.What)}
	case row == nil:
		return told{err: err}
	case errors.Is(err, journal.ErrUndecided):
		reply := make(chan error, 1)
		return told{then: []notice{again(row.Run, row.Chain, newsRequest{n, reply})}, reply: reply}
	case err == nil && row.State == journal.Running:
		return told{then: []notice{wake{}}}
	default:
		return told{err: err}
	}
}

// commitNews makes news durable. It returns what was written; nil if there was nothing to do.
func (x *Executions) commitNews(ctx context.Context, k knowledge, n news) (*journal.Write, journal.Result, error) {
	w, err := n.write(ctx, x, k)
	if err != nil || w == nil {
		return nil, journal.Result{}, err
	}
	before, after := n.points()
	x.Fault.Pass(before)
	res, err := x.Committer.Commit(*w)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, res, anotherRun()
	case err != nil:
		return nil, res, codedNews(n.doing()+" "+k.row.Name(), k.row.Name(), err)
	}
	x.Fault.Pass(after)
	return w, res, n.answer(res, k.row)
}

// learn makes news durable, and the run know of it.
func (r *run) learn(n news) error {
	w, res, err := r.commitNews(r.Host.Context(), r.known(), n)
	switch {
	case err == nil && w != nil:
		n.learned(r, w, res)
	case err != nil && res.Existed:
		r.reload(batch{}) // the store knows more than this run
	}
	return err
}

// codedNews is the error of a commit of news. One that is undecided stays what it is.
func codedNews(doing, name string, err error) error {
	switch {
	case errors.Is(err, journal.ErrUndecided):
		return err
	case errors.Is(err, journal.ErrInboxFull):
		return message.Full(name)
	default:
		return journal.Coded(doing, err)
	}
}

// wokenByNews notes what the commit of news has done to the row.
func (r *run) wokenByNews() {
	if r.row.State == journal.Running {
		r.row.WakeAt = journal.Now
	}
	r.rowWrites++
}
