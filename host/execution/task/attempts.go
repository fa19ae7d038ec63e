package task

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// Which attempts count as lost: see host/execution/lostattempts.go.

// LostLimit is how many hosts may end during the same attempt of an activity before its execution is paused.
const LostLimit = 3

// suspectDelay is how long a host has been there when an attempt begins that was lost twice.
const suspectDelay = 5 * time.Second

// runActivity runs an attempt and posts its outcome.
func (t *task) runActivity(ctx context.Context, body *abi.Activity, failed uint32, announced bool) {
	report := t.performer.Activities.Perform(ctx, activity.Task{
		Row: t.row, Op: t.op, Body: body, Failed: failed,
		Begin: func(ctx context.Context) bool { return t.begin(ctx, announced) },
		Reserve: func(ctx context.Context, value []byte, attempts uint32) (journal.Entry, bool) {
			entry, wanted := t.ledger.Reserve(ctx, t.step, value, attempts, t.performer.now())
			t.reserved = entry.Seq
			return entry, wanted
		},
		Deliver: func(entry journal.Entry, commit func(journal.Write) error) (bool, error) {
			return t.performer.Runs.DeliverAhead(t.id, t.row.Run, t.rowWrites, entry, commit)
		},
		Void: func(seq uint64) {
			t.reserved = 0
			t.post(Void{seq})
		},
	})
	t.ended(report)
	switch report := report.(type) {
	case activity.Done:
		t.post(Done{Step: t.step, Attempts: report.Attempts, Outcome: report.Outcome, At: t.performer.now()})
	case activity.Failed:
		t.post(AttemptFailed{Step: t.step, Err: report.Err})
	case activity.Committed:
		if !report.Delivered {
			t.post(Committed{Entry: report.Entry})
		}
	case activity.Dropped:
		t.post(Dropped{Step: t.step})
	case activity.Stuck:
		t.post(Stuck{Step: t.step, Err: report.Err})
	}
}

// begin is called when an attempt is about to run, and journals that if it must be. It reports whether the attempt may
// run.
func (t *task) begin(ctx context.Context, announced bool) bool {
	if announced {
		reply := make(chan bool, 1)
		t.post(Begins{t.step, reply})
		select {
		case may := <-reply:
			if !may {
				return false
			}
		case <-ctx.Done():
			return false
		}
	}
	t.begun.Store(true)
	return true
}

// inTurn performs an attempt: at once, or alone if it is suspect.
func (t *task) inTurn(ctx context.Context, suspect bool, perform func()) {
	if suspect {
		if t.performer.alone.Acquire(ctx, 1) != nil {
			return
		}
		defer t.performer.alone.Release(1)
		age := time.Duration(t.performer.now() - t.performer.born)
		if timer.Wait(ctx, t.performer.Clock, suspectDelay-age); ctx.Err() != nil {
			return
		}
	}
	perform()
}

// suspect tells whether an attempt of an op would be one more that was lost twice.
func (p *Performer) suspect(o *op.Op) bool {
	return p.Announced(o) && o.LostSoFar() == LostLimit-1
}

// Announced tells whether an attempt of an op is journaled before it begins: an earlier host may have begun one, or the
// journal says that none is under way.
func (p *Performer) Announced(o *op.Op) bool {
	return o.Kind == abi.OpActivity && (o.Released || o.MayHaveBegun(p.born))
}
