package ledger

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/replay"
	"github.com/cruster/cruster/journal"
)

// Turn is a turn that the guest has taken, with everything besides the ledger on which its meaning
// depends.
type Turn struct {
	Row     *journal.Execution            // before the turn; it is not changed
	Batch   Batch                         // the deliveries that caused the turn
	Guest   guest.Turn                    // the ops issued and given up, and the outcome
	Effects Effects                       // of the turn, performed by the run itself
	Next    *journal.Continuation         // the run that takes the place of this one; or nil
	Stops   []journal.Sent                // requests to the callees that the turn gives up
	Asked   []uint64                      // requests to stop that no write has acknowledged yet
	Settled map[string]journal.Settlement // the settled deferreds of the run
	Now     int64
}

// Decision is the meaning of a turn.
type Decision struct {
	// Forgot says that the guest finished without steps that have run: nothing else is decided, and
	// the turn cannot be committed. The move to its code could not know: it waited for an inserted
	// step.
	Forgot *abi.Error
	Update journal.Update   // of the row
	Write  journal.Write    // makes the turn durable
	Writes bool             // the turn is to be committed; else there is nothing to write
	GaveUp []journal.StepID // ops that the guest no longer waits for
	Fate   message.Fate     // of delivered messages
	Late   []time.Duration  // how late the sleeps that ended meanwhile did
}

// Decide enters a turn into the ledger, and decides its meaning.
func (l *Ledger) Decide(t Turn) (d Decision) {
	d.GaveUp = l.applyTurn(t.Batch.Entries, t.Guest)
	l.SettleOwn(t.Effects.Outcomes, t.Now)
	// Completions that are ready at once must show in the wake time: the guest may have asked for a deferred that was
	// settled long ago, and after a crash nothing else would say so.
	d.Late = l.CompleteDue(t.Row, t.Settled, t.Now)
	d.Update = l.updateAfter(t)
	d.Fate = l.fateAfter(t)
	if d.Forgot = l.forgot(t.Guest.Outcome); d.Forgot != nil {
		return d
	}
	d.Write = l.writeOf(t, d.Fate)
	switch {
	case t.Next != nil:
		l.continueAs(t.Next, t, &d)
	case staysInEntry(t, d.Update):
		// Only the waiting state of the row would change, and an entry can say that as well: most
		// steps leave the row alone.
		waiting := d.Update.Waiting
		d.Write.Entries[len(d.Write.Entries)-1].Waiting = &waiting
	default:
		update := d.Update
		d.Write.Update = &update
		Acknowledge(&d.Write, t.Asked, t.Row.Interrupt)
	}
	d.Writes = t.Next != nil || hasWrites(t, &d)
	return d
}

// CompleteDue gives the pending ops all outcomes that have come about. It tells how late sleeps
// have ended.
func (l *Ledger) CompleteDue(
	row *journal.Execution, settled map[string]journal.Settlement, now int64,
) (late []time.Duration) {
	l.giveResults(row)
	l.ops.CompleteDue(now, settled, row.Interrupt, l.inbox, func(d time.Duration) { late = append(late, d) })
	return late
}

// updateAfter returns the update of the row after a turn.
func (l *Ledger) updateAfter(t Turn) journal.Update {
	u := journal.Update{State: journal.Running, WakeAt: l.ops.WakeAt(), Section: l.RowSection(t.Row.Section)}
	if t.Guest.Outcome != nil && !t.Guest.Continues() {
		u = finalUpdate(*t.Guest.Outcome, t.Row.Interrupt != nil, l.Tick(t.Now))
	}
	u.Waiting = l.WaitingAfter(t.Batch.Entries)
	return u
}

// finalUpdate returns the update of the row for the outcome of the workflow.
func finalUpdate(outcome abi.Outcome, interrupted bool, now int64) journal.Update {
	u := journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: outcome.Value, FinishedAt: now}
	if err := outcome.Error; err != nil {
		u.State, u.Error = journal.Failed, err
		if err.Code == abi.CodeInterrupted && interrupted {
			u.State = journal.Interrupted
		}
		if err.Code == "" {
			err.Code = abi.CodeWorkflowFailed
		}
	}
	return u
}

// fateAfter returns the fate of messages after a turn.
func (l *Ledger) fateAfter(t Turn) message.Fate {
	after := message.Turn{Delivered: t.Batch.Delivered(), Over: t.Guest.Outcome != nil, Answers: t.Effects.Answers}
	if t.Guest.Continues() {
		after.Unread = t.Guest.Outcome.Continue.Unread
	}
	return l.inbox.After(after, l.ops.Receives)
}

// forgot is the error of a guest that has finished well without steps that have run; nil if it has
// not.
func (l *Ledger) forgot(outcome *abi.Outcome) *abi.Error {
	if outcome == nil || outcome.Error != nil || !replay.HaveRun(l.held) {
		return nil
	}
	return replay.FinishedWithout(l.held)
}

// writeOf returns the write of a turn, without the row.
func (l *Ledger) writeOf(t Turn, fate message.Fate) journal.Write {
	w := journal.Write{ID: t.Row.ID, Run: t.Row.Run, Chain: t.Row.Chain, Send: t.Stops}
	w.Entries, w.Take = l.TakeAttempts(t.Now), l.TakeUnwanted()
	t.Batch.WriteTo(&w)
	fate.Write(&w, t.Now)
	t.Effects.WriteTo(&w, t.Now)
	return w
}

// hasWrites tells whether a turn has something to write. A wake time that is too early does no harm,
// so it alone is none.
func hasWrites(t Turn, d *Decision) bool {
	return d.Update.State.Final() || d.Update.WakeAt < t.Row.WakeAt || d.Update.Section != t.Row.Section ||
		len(d.Write.Entries)+len(d.Write.Send)+len(d.Write.Take) > 0 || t.Effects.Writes() || d.Fate.Writes()
}

// staysInEntry tells whether the last entry of a turn can say all that the row would.
func staysInEntry(t Turn, u journal.Update) bool {
	return len(t.Batch.Entries) > 0 && !t.Batch.Durable && len(t.Asked) == 0 &&
		!u.State.Final() && u.WakeAt == t.Row.WakeAt && u.Section == t.Row.Section
}

// continueAs has another run take the place of this one. The journal is deleted with this run, and
// the other one is given the unanswered updates.
func (l *Ledger) continueAs(next *journal.Continuation, t Turn, d *Decision) {
	next.Pinned.Time, next.Pinned.Unread = l.Tick(t.Now), d.Fate.Unread
	d.Write.Entries, d.Write.Hold, d.Write.Continue = nil, nil, next
}

// Acknowledge adds requests to stop that the run has obeyed to a write with its update.
func Acknowledge(w *journal.Write, asked []uint64, interrupt *journal.Interrupt) {
	if len(asked) > 0 {
		w.Take = append(w.Take, asked...)
		w.Update.Interrupt = interrupt
	}
}

// Committed says that a turn is durable.
func (l *Ledger) Committed(b Batch, fate message.Fate) {
	if n := len(b.Entries); n > 0 {
		l.delivered = b.Entries[n-1].Seq
	}
	l.inbox.Apply(fate)
}
