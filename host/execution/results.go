package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// # Results of callees
//
// A run that waits for callees need not be in memory: the commit by which a callee ends puts its result
// into the inbox of each caller.
//
// Invariants:
//
//  1. A call is under way until it is certain that the callee will send its result, or has ended. A
//     callee that the step has started knows the waiting caller from its row
//     ([journal.Pinned.ReplyTo]); a callee that it has found is told by a message, which the owner
//     of the callee receives as any other: in front of its end, or it is refused. A run that was
//     moved may wait again for a call that its code before has given up, and whose callee sends
//     nothing because of that ([journal.Interrupt.GivenUp]): it asks by a message, too.
//  2. From then on the op waits as for a signal. A caller in memory is told by the callee; an
//     evicted caller is brought back for it, and after a crash by the scan for results
//     (host/recovery).
//  3. A result is taken out of the inbox by the commit that delivers it. One that no op waits for was given up, or
//     its run has continued, or the outcome was read from the row of the callee: it is dropped, and may be. If code
//     that the run is moved to comes to the call, it reads the row of the callee.
//
// The naive way, to watch the callee from memory, fills the host with parents: then nothing that is due finds room.

// results are the messages that tell the end of an execution to the steps that wait for it.
func results(row *journal.Execution, u *journal.Update, awaited []journal.Envelope) (sent []journal.Sent) {
	send := func(to journal.Receiver, origin journal.Origin, step journal.StepID) {
		from := journal.Caller{ID: row.ID, Run: row.Run, Step: step}
		sent = append(
			sent, journal.ResultTo(to, origin, from, u.FinishedAt, &abi.Outcome{Value: u.Value, Error: u.Error}),
		)
	}
	givenUp := row.Interrupt != nil && row.Interrupt.GivenUp
	if chain := row.Pinned.ReplyTo; chain != nil && !row.Parent.IsZero() && !givenUp {
		send(
			journal.Receiver{ID: row.Parent.ID, Chain: *chain}, journal.OriginOf(row.Parent.Run, row.Parent.Step),
			row.Parent.Step,
		)
	}
	for _, e := range awaited {
		if len(sent) > 0 && sent[0].Origin == e.Origin {
			continue // it was moved
		}
		send(journal.Receiver{ID: e.From.ID, Chain: e.From.Run}, e.Origin, e.From.Step)
	}
	return sent
}

// announce tells callers that are in memory of results that are durable, and has others brought back.
func (d *runDeps) announce(sent []journal.Sent) {
	for _, s := range sent {
		if s.Bytes > maxAnnounced {
			s.Value = nil
		}
		d.boxes.Post(s.To, ofChain{s.Chain, resultSent{s.Message}})
	}
}

// announceEnd announces the results of a finished execution. It may be repeated.
func (d *runDeps) announceEnd(row *journal.Execution, awaited []journal.Envelope) {
	sent := results(row, &journal.Update{Value: row.Value, Error: row.Error, FinishedAt: row.FinishedAt}, awaited)
	for i := range sent {
		sent[i].Bytes += row.LeftOut.Value
	}
	d.announce(sent)
}
