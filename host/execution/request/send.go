package request

import (
	"context"
	"errors"
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/host/decide"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// Committer makes one write durable, fenced by the epoch of its shard.
type Committer interface {
	Commit(w journal.Write) (journal.Result, error)
}

// Runs are the executions in memory.
type Runs interface {
	// Arrived tells the run of a chain of a message that is in its inbox. The sender holds the lock of the inbox.
	Arrived(to journal.ID, chain journal.RunID, a Arrival)
	// EnsureInMemory has an execution loaded if it is not in memory.
	EnsureInMemory(id journal.ID)
	// LookForMail has the run of a chain look into its inbox. The reply, if one is waited for, comes when the
	// execution has ended.
	LookForMail(to journal.ID, chain journal.RunID, reply chan<- error)
}

// Workflows knows the declarations of workflows.
type Workflows interface {
	// CheckSignal refuses a signal that the workflow of an execution does not have, and a value that does not
	// fit. It returns the value in canonical form.
	CheckSignal(ctx context.Context, row *journal.Execution, name string, value []byte) ([]byte, error)
	// Workflow returns the declaration of an execution's workflow in its module.
	Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error)
}

// Arrival is the notice of a message in an inbox.
type Arrival struct {
	// Message may lack its value, which is in the store, and its position, if its sender does not know it.
	Message journal.Message
	// Reading is the last of any inbox that began before the message was put: see [InboxLocks].
	Reading uint64
	// Reply to a request to stop, if one is waited for, comes when the execution has ended.
	Reply chan<- error // or nil
}

// Sender puts messages into the inboxes of executions.
//
// A signal, an update, a settlement, a request to stop, the question for a result: all come in one
// way. The sender puts the message into the inbox, whatever the run does at the moment, and tells
// the run. Neither its code nor its memory is needed for that; the run handles the message later.
//
// Invariants:
//
//  1. A message is put and the run is told under one lock of the inbox ([InboxLocks]): the run knows it from its
//     inbox or is told of it, never both.
//  2. The commit counts the message in the row and sets the wake time (see journal.Write.Receive).
//     An update of the run names how many it knows of, so that a concurrent one does not overwrite
//     the wake time. After a crash the run is loaded, and finds the message.
//  3. If the answer to the commit is lost it is repeated, under the same lock, until its outcome is
//     known, also when the caller has gone. Until then no run can have taken the message, so that
//     the repeat finds it.
type Sender struct {
	Clock     clockwork.Clock
	Committer Committer
	Fault     faultpoint.Injector
	// Group has the goroutines that repeat commits.
	Group     *actor.TaskGroup
	Host      *hoststate.State
	Locks     *InboxLocks
	Logger    *slog.Logger
	Rows      Rows
	Runs      Runs
	Workflows Workflows
}

// letter is a message on its way to an execution.
type letter struct {
	message       journal.Message
	before, after string // the points around its commit
	// idle tells, by the row, whether there is nothing to send, or why it is refused. It refuses whatever comes too
	// late.
	idle func(ctx context.Context, row *journal.Execution) (idle bool, err error)
	// existed answers the sender of a message whose origin is in the inbox already; nil if the message there is as
	// good. ErrNotFound says that the message is gone by now.
	existed func(ctx context.Context, row *journal.Execution) error
	reply   chan<- error // if it is a request to stop: for when the run has taken it; or nil
	forRun  bool         // it is for one run, and not for one that continues that
}

// send puts a letter into the inbox of an execution: of the chain of a row that was looked at. It returns once that is
// durable.
func (s *Sender) send(ctx context.Context, row *journal.Execution, l letter) error {
	if err := s.Host.Accepting(); err != nil {
		return err
	}
	for {
		idle, err := l.idle(ctx, row)
		if idle || err != nil {
			return err
		}
		existed, err := s.put(ctx, row, l)
		if err == nil && existed && l.existed != nil {
			err = l.existed(ctx, row)
		}
		switch {
		case !errors.Is(err, journal.ErrNotFound):
			return err
		case l.forRun:
			return errRunGone
		}
		// It has continued as another run, has ended, or is gone.
		if row, err = s.Rows.Load(ctx, RefTo(row)); err != nil {
			return err
		}
	}
}

// put is one try to put a letter into the inbox of a run. It reports whether a message of its origin was
// there; ErrNotFound if the run has ended or is gone.
func (s *Sender) put(ctx context.Context, row *journal.Execution, l letter) (existed bool, err error) {
	reading, release, err := s.Locks.Share(ctx, row.ID)
	if err != nil {
		return false, journal.Coded("tell "+row.Name(), err)
	}
	p := &posting{s: s, row: row, letter: l, reading: reading}
	res, err := p.commit()
	if !errors.Is(err, journal.ErrUndecided) {
		defer release()
		return p.committed(res, err)
	}
	decided := make(chan postingResult, 1)
	repeats := s.Group.Go(func() {
		defer release()
		decided <- p.repeat()
	})
	if !repeats { // the host ends
		release()
		return false, journal.Coded("tell "+row.Name(), err)
	}
	select {
	case r := <-decided:
		return r.existed, r.err
	case <-ctx.Done():
		return false, journal.Coded("tell "+row.Name(), ctx.Err())
	}
}

// posting is the commit of a letter to the inbox of a run, whose lock the sender holds.
type posting struct {
	s       *Sender
	row     *journal.Execution
	letter  letter
	reading uint64
}

// postingResult is how a posting has ended.
type postingResult struct {
	existed bool
	err     error
}

func (p *posting) write() journal.Write {
	return journal.Write{ID: p.row.ID, Run: p.row.Run, Chain: p.row.Chain, Receive: &p.letter.message}
}

// commit tries to commit the letter. A panic leaves the outcome undecided.
func (p *posting) commit() (res journal.Result, err error) {
	f := hostfault.Guard(func() {
		p.s.Fault.Pass(p.letter.before)
		if res, err = p.s.Committer.Commit(p.write()); err == nil {
			p.s.Fault.Pass(p.letter.after)
		}
	})
	if f != nil {
		p.s.Logger.Error(
			"the host failed while it put a message into an inbox", "execution", p.row.Name(), "fault", f.What,
		)
		err = journal.ErrUndecided
	}
	return res, err
}

// repeat commits the letter again until its outcome is known.
func (p *posting) repeat() postingResult {
	writer := decide.Writer{Clock: p.s.Clock, Commit: p.s.Committer.Commit, Host: p.s.Host, Logger: p.s.Logger}
	res, err := writer.Repeat(p.s.Host.Context(), p.write(), p.lookAgain)
	if err == nil && res.Existed { // it may be this message
		p.tellRun(0)
		return postingResult{existed: true}
	}
	existed, err := p.committed(res, err)
	return postingResult{existed, err}
}

// lookAgain interprets the refusal of a repeat. The run that the letter was for may have received it and
// continued since: then it is in the inbox that the next run shares, which has not been read yet. A
// settlement of a deferred is for one run.
func (p *posting) lookAgain(res journal.Result, refusal error) (journal.Result, error) {
	m := &p.letter.message
	if !errors.Is(refusal, journal.ErrNotFound) || m.Kind == journal.SettleMessage {
		return decide.Existing(res, refusal)
	}
	_, err := p.s.Rows.Store.FindMessage(p.s.Host.Context(), p.row.Receiver(), m.Origin)
	switch {
	case err == nil:
		return journal.Result{Existed: true}, nil
	case !errors.Is(err, journal.ErrNotFound):
		return journal.Result{}, journal.ErrUndecided
	}
	return res, refusal
}

// committed tells the run of a commit to its inbox, and the sender of a refusal.
func (p *posting) committed(res journal.Result, err error) (existed bool, _ error) {
	switch {
	case err != nil:
		return false, p.refusal(err)
	case res.Existed:
		p.remindRun()
		return true, nil
	}
	p.tellRun(res.Position)
	return false, nil
}

// refusal is the sender's error for the refusal of a commit.
func (p *posting) refusal(err error) error {
	kind := p.letter.message.Kind
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return err
	case errors.Is(err, journal.ErrInboxFull) && kind == journal.SettleMessage:
		return settledFull(p.row)
	case errors.Is(err, journal.ErrInboxFull):
		return message.Full(p.row.Name())
	default:
		return journal.Coded("send a message of kind "+string(kind)+" to "+p.row.Name(), err)
	}
}

// remindRun is for a message that was in the inbox before.
func (p *posting) remindRun() {
	switch {
	case p.letter.message.Kind.Stops():
		p.s.Runs.LookForMail(p.row.ID, p.row.Chain, p.letter.reply)
	case p.row.State == journal.Running && p.row.WakeAt <= p.s.now():
		p.s.Runs.EnsureInMemory(p.row.ID) // recovery may stand still because the host is full of callers
	}
}

// tellRun tells the run of a message that is in its inbox, at a position if that is known.
func (p *posting) tellRun(position uint64) {
	m := p.letter.message
	m.Position = position
	p.s.Runs.Arrived(p.row.ID, p.row.Chain, Arrival{m, p.reading, p.letter.reply})
}

// now is the wall clock, Unix nanoseconds.
func (s *Sender) now() int64 { return s.Clock.Now().UnixNano() }
