package ledger

import (
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// FailedAttempt is an attempt of an activity that has failed. The zero value stands for an op that
// was no longer waited for.
type FailedAttempt struct {
	Activity string
	Number   uint32
	Err      *abi.Error
	// Last says that no other attempt follows; if one does, then after Delay.
	Last  bool
	Delay time.Duration
}

// AttemptFailed decides whether an activity is tried again. If so the failure becomes an entry of its own: attempts and
// delays survive a crash.
func (l *Ledger) AttemptFailed(
	step journal.StepID, failure *abi.Error, now int64, random func() float64,
) (failed FailedAttempt) {
	l.ops.Change(step, func(o *op.Op) {
		if body, ok := o.Body.(*abi.Activity); ok && !o.Settled() {
			failed = l.failAttempt(o, body, failure, now, random)
		}
	})
	return failed
}

func (l *Ledger) failAttempt(
	o *op.Op, body *abi.Activity, failure *abi.Error, now int64, random func() float64,
) FailedAttempt {
	o.Attempts++
	o.LastError = journal.Brief(failure)
	failed := FailedAttempt{Activity: body.Name, Number: o.Attempts, Err: failure}
	if !failure.Retryable || o.Attempts > body.Retry.Retries {
		failed.Last = true
		o.Settle(abi.Outcome{Error: failure}, o.Attempts, now)
		return failed
	}
	failed.Delay = activity.Backoff(body.Retry, o.Attempts, random)
	entry := journal.Entry{
		Kind: journal.Attempt, Op: o.Op, Attempts: o.Attempts, Error: failure,
		NextAt: op.AddTime(now, failed.Delay),
	}
	o.Note(entry) // as a replay will
	l.attempts = append(l.attempts, entry)
	return failed
}

// TakeAttempts numbers the failed attempts that are to be committed, and hands them over.
func (l *Ledger) TakeAttempts(now int64) []journal.Entry {
	entries := l.attempts
	l.attempts = nil
	for i := range entries {
		l.seq++
		entries[i].Seq, entries[i].At = l.seq, l.Tick(now)
	}
	return entries
}

// NoteAttempt has an entry about an attempt of a pending op committed with the next write.
func (l *Ledger) NoteAttempt(o *op.Op, kind journal.EntryKind, lost uint32, now int64) {
	en := journal.Entry{Kind: kind, Op: o.Op, Attempts: lost, At: l.Tick(now)}
	l.ops.Change(o.StepID, func(o *op.Op) { o.Note(en) })
	l.attempts = append(l.attempts, en)
}

// OwesAttempts tells whether there are attempts to be committed.
func (l *Ledger) OwesAttempts() bool { return len(l.attempts) > 0 }
