package execution

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/ledger"
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
//  4. A large result that very many have waited for is in no message (maxShared): the message says that the
//     callee has ended. It is dropped, and the op needs the host again, which finds the callee and reads its row.
//
// The naive way, to watch the callee from memory, fills the host with parents: then nothing that is due finds room.

// maxShared bounds the bytes of the messages by which one execution tells its end to steps that have found it, of which
// there may be ten thousand. Above it they bring no outcome, and each step reads the row of the callee in its turn: it
// is linked to it.
const maxShared = 8 << 20

// results are the messages that tell the end of an execution to the steps that wait for it.
func results(row *journal.Execution, u *journal.Update, awaited []journal.Envelope) (sent []journal.Sent) {
	givenUp := row.Interrupt != nil && row.Interrupt.GivenUp
	replyTo := row.Pinned.ReplyTo
	if row.Parent.IsZero() || givenUp {
		replyTo = nil
	}
	if replyTo == nil && len(awaited) == 0 {
		return nil
	}
	value := abi.MustMarshal(&abi.Outcome{Value: u.Value, Error: u.Error})
	send := func(to journal.Receiver, origin journal.Origin, step journal.StepID) {
		from := journal.Caller{ID: row.ID, Run: row.Run, Step: step}
		sent = append(sent, journal.ResultTo(to, origin, from, u.FinishedAt, value))
	}
	if replyTo != nil {
		send(
			journal.Receiver{ID: row.Parent.ID, Chain: *replyTo}, journal.OriginOf(row.Parent.Run, row.Parent.Step),
			row.Parent.Step,
		)
	}
	if len(awaited)*len(value) > maxShared {
		value = nil
	}
	for _, e := range awaited {
		if replyTo != nil && sent[0].Origin == e.Origin {
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
		d.boxes.PostWith(s.To, func(queue []notice, _ bool) (notice, bool) {
			paid, ok := boxMemory{d.Queued}.pay(queue, len(s.Value))
			if !ok {
				return moreResults(queue, s.Chain)
			}
			return ofChain{s.Chain, resultSent{s.Message, paid}}, true
		})
	}
}

// announceEnd announces the results of a finished execution. It may be repeated.
func (d *runDeps) announceEnd(row *journal.Execution, awaited []journal.Envelope) {
	sent := results(row, &journal.Update{Value: row.Value, Error: row.Error, FinishedAt: row.FinishedAt}, awaited)
	for i := range sent {
		sent[i].Bytes += row.LeftOut.Value // so that no one takes the value of the notice for the result
	}
	d.announce(sent)
}

// tellDeleted tells all who wait for the end of a chain, or for an answer of its, that it was deleted.
func (d *runDeps) tellDeleted(id journal.ID, chain journal.RunID) {
	d.Watchers.NotifyDeleted(id, chain)
	d.updates.TellDeleted(d.Host.Context(), id, chain)
}

// tell tells all who wait for an execution of its row, as it is in the store.
func (d *runDeps) tell(row *journal.Execution) {
	d.Watchers.Notify(row)
	d.updates.TellAnswered(d.Host.Context(), row)
	if row.State.Final() {
		// else the next scan finds them
		if inbox, err := d.Store.Inbox(d.Host.Context(), row.Receiver(), 0); err == nil {
			l := ledger.New()
			l.Open(inbox)
			d.announceEnd(row, l.Awaited())
		}
	}
}
