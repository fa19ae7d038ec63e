package call

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Patience is how long a workflow waits in memory: see host/entity/request/leave.go. The zero value waits for as long
// as it takes.
type Patience struct {
	// ReplyTo is the chain of runs of the workflow: it names the inbox that the answer is sent to.
	ReplyTo journal.RunID
	// Left is closed when the workflow wants to leave memory.
	Left <-chan struct{}
}

// Address is where a message says that its answer is to be sent; nil if its sender waits in memory for as long as it
// takes.
func (p *Patience) Address() *journal.RunID {
	if p.Left == nil {
		return nil
	}
	return &p.ReplyTo
}

// BeginWork says that the call is at work from now on.
func (c *Call) BeginWork() { c.AtWork, c.replies = true, c.ReplyTo != nil && len(c.Waiters) == 0 }

// AnswerTo is the message that brings the answer of an entity to a workflow that has left; none if it has not.
func (c *Call) AnswerTo(id journal.ID, outcome abi.Outcome, now int64) []journal.Sent {
	if !c.replies {
		return nil
	}
	to := journal.Receiver{ID: c.From.ID, Chain: *c.ReplyTo}
	origin := journal.OriginOf(c.From.Run, c.From.Step)
	if c.Kind == Lock {
		// a step is told of each entity that it has locked, while the answer of the one before may be untaken
		origin = journal.NewOrigin()
	}
	from := journal.Caller{ID: id, Step: c.From.Step}
	return []journal.Sent{journal.ResultTo(to, origin, from, now, abi.MustMarshal(&outcome))}
}

// Again is the same request once more: the actor of its entity may have the call still.
func (c *Call) Again() *Call {
	return &Call{
		Ref:         c.Ref,
		Kind:        c.Kind,
		Operation:   c.Operation,
		Input:       c.Input,
		Origin:      c.Origin,
		From:        c.From,
		Persisted:   c.Persisted,
		Awaited:     true,
		Mailbox:     c.Mailbox,
		Concurrency: c.Concurrency,
		IdleTime:    c.IdleTime,
		Patience:    c.Patience,
	}
}
