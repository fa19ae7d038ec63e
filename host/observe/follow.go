package observe

import (
	"context"
	"math"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

const (
	// followPage is how many entries are read at a time, unless they are told slowly: then it is one.
	followPage = 100
	// followPatience bounds the time in which a page is told. The entries that are left by then are
	// dropped from memory, and read again.
	followPatience = time.Second
	// followCopies is the number of copies of an event in memory: as it was read, as a message, and
	// encoded.
	followCopies = 3
)

// FollowRequest says from where on to follow an execution.
type FollowRequest struct {
	// After is the sequence number of the last entry seen.
	After uint64
	// Run is the run that After is of. If the execution is another run by now, that is followed from its beginning. The
	// zero value is the run that it is.
	Run journal.RunID
	// Chain is the first of the runs that continue each other, and that are followed: also when
	// another run has taken their place. The zero value means the current ones of the execution.
	Chain journal.RunID
}

// A FollowEvent is an event of an execution: one of its fields is set.
type FollowEvent struct {
	Entry     *journal.Entry
	Execution *journal.Execution
	Line      *follow.Line
}

// Follow tells the events of an execution until it has ended, or ctx is done: the entries of its
// journal from the given one on, once they are durable; the log lines of its workflow and its
// activities while it is followed; and the execution itself at first, whenever it is paused, goes
// on, or continues as a new run, and at its end. If tell returns an error, Follow ends with it.
//
// The row is read before the entries, so that the entries of a finished run are complete. Entries
// of a run that were not told before it continued are passed over.
//
// Pages and results are paid for before they are read, and given back as they are told. A follower
// that takes a message a minute has one entry in memory, not a page. Tell must return, whatever the
// follower does.
func (o *Observer) Follow(
	ctx context.Context, namespace, name string, req FollowRequest, tell func(FollowEvent) error,
) error {
	v := &following{
		observer: o, namespace: namespace, name: name, chain: req.Chain, run: req.Run, after: req.After, tell: tell,
	}
	row, err := v.load(ctx)
	if err != nil {
		return err
	}
	f := o.deps.Followers.Add(row.ID, row.Chain)
	if f == nil {
		return abi.Errorf(abi.CodeOverloaded, "too many callers follow executions of this host").
			WithHint("End another 'workflow follow', or use 'workflow history'.")
	}
	defer o.deps.Followers.Remove(row.ID, f)
	v.follower = f
	for {
		if over, err := v.catchUp(ctx); over || err != nil {
			return err
		}
		select {
		case <-f.Changed():
		case <-ctx.Done():
			return journal.Coded("follow "+name, ctx.Err())
		case <-o.deps.Host.Context().Done():
			return o.deps.Host.EndReason()
		}
	}
}

// following is how far a caller of Follow is.
type following struct {
	observer        *Observer
	namespace, name string
	tell            func(FollowEvent) error
	follower        *follow.Follower

	chain journal.RunID // zero before the first look
	run   journal.RunID
	after uint64
	state journal.State // the last that was told; empty before the first
	slow  bool          // the last page was told slowly
}

// load reads the run that is followed, be it the current one or superseded.
func (v *following) load(ctx context.Context) (*journal.Execution, error) {
	run := ""
	if !v.chain.IsZero() {
		run = v.chain.String()
	}
	row, err := v.observer.PollRun(ctx, v.namespace, v.name, run)
	if err == nil {
		v.chain = row.Chain
	}
	return row, err
}

// catchUp sends new events, and reports whether the execution has ended.
func (v *following) catchUp(ctx context.Context) (over bool, err error) {
	for {
		row, err := v.load(ctx)
		if err != nil {
			return false, err
		}
		if err := v.turnTo(ctx, row); err != nil {
			return false, err
		}
		more, err := v.tellPage(ctx, row)
		if err != nil {
			return false, err
		}
		if more {
			continue
		}
		return row.State.Final(), v.tellState(ctx, row)
	}
}

// tellPage reads a page of entries and tells them. It reports whether there are more.
func (v *following) tellPage(ctx context.Context, row *journal.Execution) (more bool, err error) {
	paid, err := v.observer.deps.Answers.AdmitAnswer(ctx, followCopies*abi.MaxPayload)
	if err != nil {
		return false, err
	}
	defer paid.Release()
	limit := journal.PageLimit{Entries: followPage}
	if v.slow {
		limit.Entries = 1
	}
	// Each entry that was durable before one of these lines is in the page, or in one behind it.
	logged := v.observer.deps.Followers.Logged(v.follower)
	entries, more, err := v.observer.deps.Store.Entries(ctx, row.RunKey(), v.after, limit)
	if err != nil {
		return false, journal.Coded("follow "+v.name, err)
	}
	var bytes int64
	for i := range entries {
		bytes += op.Bytes(entries[i].Value, entries[i].Error)
	}
	paid.ShrinkTo(followCopies * bytes)
	left, err := v.tellEntries(entries, func(told int64) {
		bytes -= told
		paid.ShrinkTo(followCopies * bytes)
	})
	if more = more || left; more || err != nil {
		return more, err
	}
	paid.Release()
	return false, v.tellLines(math.MinInt64, logged)
}

// turnTo begins anew if the execution is another run by now.
func (v *following) turnTo(ctx context.Context, row *journal.Execution) error {
	if v.run == row.Run {
		return v.tellFirst(ctx, row)
	}
	if !v.run.IsZero() {
		v.after, v.state = 0, ""
	}
	v.run = row.Run
	return v.tellFirst(ctx, row)
}

// tellFirst tells a run when it is seen first.
func (v *following) tellFirst(ctx context.Context, row *journal.Execution) error {
	if v.state != "" || row.State.Final() {
		return nil
	}
	return v.tellState(ctx, row)
}

func (v *following) tellState(ctx context.Context, row *journal.Execution) error {
	if v.state == row.State {
		return nil
	}
	v.state = row.State
	if left := row.LeftOut; left.Value > 0 {
		paid, err := v.observer.deps.Answers.AdmitAnswer(ctx, int64(left.Input+followCopies*left.Value))
		if err != nil {
			return err
		}
		defer paid.Release()
		if row, err = v.observer.Whole(ctx, row); err != nil {
			return err
		}
	}
	return v.tell(FollowEvent{Execution: row})
}

// tellEntries tells entries in their order, and lines between them by their times. Times of entries
// need not ascend, and a caller goes on behind the last that it was told. It lets go of each that
// was told, and tells how many bytes that had. If this takes long it reports that some are left.
func (v *following) tellEntries(entries []journal.Entry, told func(bytes int64)) (left bool, err error) {
	since := v.observer.deps.Clock.Now()
	v.slow = false
	for i := range entries {
		if i > 0 && v.slow {
			return true, nil
		}
		e := entries[i]
		entries[i] = journal.Entry{}
		if err := v.tellLines(e.At, 0); err != nil {
			return false, err
		}
		if err := v.tell(FollowEvent{Entry: &e}); err != nil {
			return false, err
		}
		v.after = e.Seq
		told(op.Bytes(e.Value, e.Error))
		v.slow = v.observer.deps.Clock.Since(since) > followPatience
	}
	return false, nil
}

// tellLines tells the lines from before a time, and the first so many that were logged. The lines logged since
// the entries were read are among them: an activity logs before its outcome is an entry.
func (v *following) tellLines(before int64, first int) error {
	for {
		line, ok := v.observer.deps.Followers.Take(v.follower, before, first)
		if !ok {
			return nil
		}
		if err := v.tell(FollowEvent{Line: &line}); err != nil {
			return err
		}
	}
}
