package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// maxBatchBytes bounds the values that one turn delivers together.
const maxBatchBytes = 1 << 20

// crashLimit is how often a guest may crash in the same place before its
// execution is paused.
const crashLimit = 3

// maxEntries bounds a journal: what must be replayed at each recovery.
const maxEntries = 100_000

// batch is what one turn hands to the guest.
type batch struct {
	entries []journal.Entry
	// durable says that the entries are in the journal already, committed
	// together with the SQL of their activity.
	durable bool
}

// proceed takes turns for as long as there is something to deliver.
func (r *run) proceed() {
	for r.row != nil && r.row.State == journal.Running && r.eng.ctx.Err() == nil {
		if !r.started {
			if !r.firstTurn() {
				return
			}
			continue
		}
		r.completeDue()
		b, ok := r.nextBatch()
		if !ok {
			if r.waitsForNothing() {
				r.pause(batch{}, abi.Errorf(abi.CodeGuestDeadlock, "the workflow parked without waiting for anything: nothing could ever wake it"))
				return
			}
			r.commitAttempts()
			r.performAll()
			return
		}
		if b.entries[0].Seq > maxEntries {
			r.pause(b, abi.Errorf(abi.CodeExecutionTooLong, "the journal has %d entries, the limit is %d", b.entries[0].Seq, maxEntries))
			return
		}
		if !r.takeTurn(b) {
			return
		}
	}
}

// waitsForNothing tells whether a parked guest has no op left that could be
// delivered.
func (r *run) waitsForNothing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) == 0 && len(r.reserved) == 0
}

// completeDue gives ops their outcome that have become ready by themselves: a
// sleep that is over, a deferred that is settled, an interrupt that was asked
// for, a retry whose delay has passed.
func (r *run) completeDue() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.completeReady()
}

// completeReady is completeDue for who holds r.mu.
func (r *run) completeReady() {
	now := r.eng.now().UnixNano()
	for _, o := range r.pending {
		if o.settled() {
			continue
		}
		switch b := o.body.(type) {
		case *abi.Sleep:
			if due := o.dueAt(); due <= now {
				o.outcome = &abi.Outcome{Value: abi.Nil}
				r.eng.metrics.observeLateness(now - due)
			}
		case *abi.Activity:
			if o.nextAt != 0 && o.nextAt <= now {
				o.nextAt = 0
			}
		case *abi.Deferred:
			if d, ok := r.deferreds[b.Name]; ok {
				o.outcome = &abi.Outcome{Value: d.Value, Error: d.Error}
			}
		case *abi.Interrupted:
			if i := r.row.Interrupt; i != nil {
				o.outcome = &abi.Outcome{Value: abi.MustMarshal(&abi.Interruption{Reason: i.Reason})}
			}
		}
	}
}

// nextBatch decides what is delivered next. Whatever has a sequence number goes
// in its order; a number that is still undecided holds up all behind it. Only
// then do outcomes without a number get theirs, in the order in which their ops
// were issued.
func (r *run) nextBatch() (batch, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortFunc(r.committed, func(a, b journal.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	for len(r.committed) > 0 {
		head := r.committed[0]
		for undecided := range r.reserved {
			if undecided < head.Seq {
				return batch{}, false
			}
		}
		r.committed = r.committed[1:]
		if r.pending[head.Op.Number] != nil {
			return batch{entries: []journal.Entry{head}, durable: true}, true
		}
		// The guest gave up on the op while its transaction was committing. The
		// entry stays in the journal and is passed over, now and on replay.
		r.delivered = head.Seq
	}
	if len(r.reserved) > 0 {
		return batch{}, false
	}
	return r.numberOutcomes()
}

// numberOutcomes makes entries of the outcomes that are ready. r.mu is held.
func (r *run) numberOutcomes() (batch, bool) {
	var ready []*op
	for _, o := range r.pending {
		if o.outcome != nil {
			ready = append(ready, o)
		}
	}
	if len(ready) == 0 {
		return batch{}, false
	}
	slices.SortFunc(ready, func(a, b *op) int { return cmp.Compare(a.Number, b.Number) })
	at, turn, size := r.tick(), r.turn+1, 0
	r.turn = turn
	var b batch
	for _, o := range ready {
		if size += len(o.outcome.Value); size > maxBatchBytes && len(b.entries) > 0 {
			break
		}
		r.seq++
		b.entries = append(b.entries, journal.Entry{
			Kind: journal.Delivery, Seq: r.seq, Turn: turn, At: at, Op: o.Op,
			Attempts: o.attempts, Value: o.outcome.Value, Error: o.outcome.Error,
		})
	}
	return b, true
}

// tick is the journal time of a new entry: it never runs backwards. r.mu is
// held.
func (r *run) tick() int64 {
	r.clock = max(r.clock, r.eng.now().UnixNano())
	return r.clock
}

// reserve gives an activity's transaction its place in the journal. It reports
// false if nobody waits for the op any more, or if ctx, that of the work for it,
// is over: then somebody else may be at work on the same op.
func (r *run) reserve(ctx context.Context, number uint32, value []byte, attempts uint32) (journal.Entry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.pending[number]
	if o == nil || o.settled() || ctx.Err() != nil {
		return journal.Entry{}, false
	}
	r.seq++
	r.turn++
	r.reserved[r.seq] = struct{}{}
	return journal.Entry{
		Kind: journal.Delivery, Seq: r.seq, Turn: r.turn, At: r.tick(), Op: o.Op, Attempts: attempts, Value: value,
	}, true
}

// firstTurn begins an execution that has no journal yet. It reports whether the
// run goes on.
func (r *run) firstTurn() bool {
	res, err := r.begin(r.eng.ctx)
	if err != nil {
		return r.crashed(batch{}, err)
	}
	r.started = true
	return r.conclude(batch{}, res)
}

// takeTurn delivers a batch. It reports whether the run goes on.
func (r *run) takeTurn(b batch) bool {
	if r.guest == nil {
		if err := r.revive(r.eng.ctx); err != nil {
			return r.crashed(b, err)
		}
	}
	res, err := r.deliver(r.eng.ctx, b.entries)
	if err != nil {
		return r.crashed(b, err)
	}
	return r.conclude(b, res)
}

// deliver runs the guest on a batch.
func (r *run) deliver(ctx context.Context, entries []journal.Entry) (turnResult, error) {
	deliveries := make([]abi.Delivery, len(entries))
	for i, en := range entries {
		deliveries[i] = abi.Delivery{Op: en.Op.Number, Value: en.Value, Error: en.Error}
	}
	return r.compute(ctx, func(ctx context.Context) (turnResult, error) {
		return r.guest.resume(ctx, deliveries, entries[0].At)
	})
}

// compute lets the guest run, within the limits of time and of guests at once.
func (r *run) compute(ctx context.Context, turn func(context.Context) (turnResult, error)) (turnResult, error) {
	if err := r.eng.turns.Acquire(ctx, 1); err != nil {
		return turnResult{}, err
	}
	defer r.eng.turns.Release(1)
	ctx, cancel := context.WithTimeout(ctx, r.eng.cfg.TurnTimeout)
	defer cancel()
	r.eng.metrics.turns.Inc()
	return turn(ctx)
}

// conclude commits a turn with what it caused, and then lets the effects out.
// It reports whether the run goes on.
func (r *run) conclude(b batch, res turnResult) bool {
	r.crashes = 0
	r.mu.Lock()
	r.settleOps(b.entries, res)
	// What is ready at once must show in the wake time: the guest may have asked
	// for a deferred that was settled long ago, and nobody would come to say so
	// after a crash.
	r.completeReady()
	update := r.updateAfter(res)
	w := journal.Write{ID: r.id, Update: &update, Entries: r.numberAttempts()}
	r.mu.Unlock()
	if !b.durable {
		w.Entries = append(w.Entries, b.entries...)
	}
	// A wake time that is too early does no harm, so it alone is no reason to
	// write.
	if len(w.Entries) > 0 || update.State.Final() || update.WakeAt < r.row.WakeAt {
		r.eng.fault(FaultTurnBeforeCommit)
		if _, err := r.eng.commit(w); err != nil {
			r.rollBack(b, err)
			return false
		}
		r.applyUpdate(update)
		r.eng.fault(FaultTurnAfterCommit)
	}
	if n := len(b.entries); n > 0 {
		r.delivered = b.entries[n-1].Seq
	}
	r.setbacks = 0
	r.emitLog(res.log)
	if r.row.State.Final() {
		r.finish()
		return false
	}
	r.abandonWork(res.cancelled)
	r.performAll()
	r.eng.fault(FaultTurnAfterEffects)
	if r.eng.cfg.EvictAlways {
		r.eng.fault(FaultEvict)
		r.dropGuest()
	}
	return true
}

// settleOps takes delivered and cancelled ops from the pending ones and adds
// those just issued. r.mu is held.
func (r *run) settleOps(delivered []journal.Entry, res turnResult) {
	for _, en := range delivered {
		delete(r.pending, en.Op.Number)
	}
	for _, o := range res.issued {
		r.pending[o.Number] = o
	}
	for _, number := range res.cancelled {
		delete(r.pending, number)
	}
}

// updateAfter is what the row becomes. r.mu is held.
func (r *run) updateAfter(res turnResult) journal.Update {
	if res.outcome == nil {
		return journal.Update{State: journal.Running, WakeAt: r.wakeAt()}
	}
	u := journal.Update{State: journal.Completed, WakeAt: journal.Never, Value: res.outcome.Value, FinishedAt: r.tick()}
	if err := res.outcome.Error; err != nil {
		u.State, u.Error = journal.Failed, err
		if err.Code == abi.CodeInterrupted && r.row.Interrupt != nil {
			u.State = journal.Interrupted
		}
		if err.Code == "" {
			err.Code = abi.CodeWorkflowFailed
		}
	}
	return u
}

func (r *run) applyUpdate(u journal.Update) {
	r.row.State, r.row.WakeAt, r.row.Value, r.row.Error, r.row.FinishedAt = u.State, u.WakeAt, u.Value, u.Error, u.FinishedAt
}

// numberAttempts hands over the failed attempts that are to be committed. r.mu
// is held.
func (r *run) numberAttempts() []journal.Entry {
	entries := r.attempts
	r.attempts = nil
	for i := range entries {
		r.seq++
		entries[i].Seq, entries[i].At = r.seq, r.tick()
	}
	return entries
}

// commitAttempts makes failed attempts durable when no turn does so along the
// way.
func (r *run) commitAttempts() {
	r.mu.Lock()
	w := journal.Write{ID: r.id, Entries: r.numberAttempts(), Update: &journal.Update{State: r.row.State, WakeAt: r.wakeAt()}}
	r.mu.Unlock()
	if len(w.Entries) == 0 {
		return
	}
	r.eng.fault(FaultRetryBeforeCommit)
	if _, err := r.eng.commit(w); err != nil {
		r.rollBack(batch{}, err)
		return
	}
	r.row.WakeAt = w.Update.WakeAt
	r.eng.fault(FaultRetryAfterCommit)
}

// rollBack throws away all that was not committed, after a commit that failed or
// whose answer was lost, and has the run rebuilt from the journal. Outcomes are
// kept: whether they must be delivered again, the journal tells.
func (r *run) rollBack(b batch, err error) {
	if errors.Is(err, journal.ErrFenced) || r.eng.ctx.Err() != nil {
		return
	}
	r.reload(b)
	r.setback("commit", err)
}

// reload has the run rebuilt from the journal. The outcomes of a batch and of
// ops that wait for theirs to be delivered are kept.
func (r *run) reload(b batch) {
	r.mu.Lock()
	for _, o := range r.pending {
		if o.outcome != nil {
			r.salvaged[o.Number] = doneMail{op: o.Number, attempts: o.attempts, outcome: *o.outcome}
		}
	}
	for _, en := range b.entries {
		if !b.durable {
			r.salvaged[en.Op.Number] = doneMail{op: en.Op.Number, attempts: en.Attempts, outcome: abi.Outcome{Value: en.Value, Error: en.Error}}
		}
	}
	r.mu.Unlock()
	r.unload()
	r.wakeUp()
}

// unload forgets everything but what the host is doing and what it owes.
func (r *run) unload() {
	r.dropGuest()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.row, r.started = nil, false
	r.pending = map[uint32]*op{}
	r.committed, r.attempts = nil, nil
}

// wakeUp posts the run a reason to look around.
func (r *run) wakeUp() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mail = append(r.mail, wakeMail{})
}

// crashed handles a turn that the guest did not survive, or a replay that was
// not possible. It reports whether the run goes on.
func (r *run) crashed(b batch, err error) bool {
	r.dropGuest()
	if r.eng.ctx.Err() != nil {
		return false
	}
	var trap *wasm.Trap
	var coded *abi.Error
	isTrap := errors.As(err, &trap)
	if !errors.As(err, &coded) || coded.Code == abi.CodeStore {
		// Neither the guest nor the journal is to blame: the store is.
		r.rollBack(b, err)
		return false
	}
	r.crashes++
	r.eng.metrics.crashes.Inc()
	if isTrap && coded.Retryable && r.crashes < crashLimit {
		r.log.Warn("the workflow crashed; replaying", "crash", r.crashes, "error", coded)
		if len(b.entries) == 0 {
			r.started = false
			return true
		}
		return r.takeTurn(b)
	}
	if coded.Retryable && isTrap {
		coded = abi.Errorf(abi.CodeCrashLoop, "the workflow crashed %d times in a row; last: %v", r.crashes, coded)
	}
	r.pause(b, coded)
	return false
}

// pause stops an execution that cannot go on, and keeps everything: what was to
// be delivered is journaled with it.
func (r *run) pause(b batch, reason *abi.Error) {
	u := journal.Update{State: journal.Paused, WakeAt: journal.Never, Error: reason}
	r.mu.Lock()
	w := journal.Write{ID: r.id, Update: &u, Entries: r.numberAttempts()}
	r.mu.Unlock()
	if !b.durable {
		w.Entries = append(w.Entries, b.entries...)
	}
	if _, err := r.eng.commit(w); err != nil {
		r.rollBack(b, err)
		return
	}
	r.applyUpdate(u)
	r.crashes = 0
	r.log.Error("paused", "code", reason.Code, "reason", reason.Message)
	r.eng.metrics.finished.WithLabelValues(string(journal.Paused)).Inc()
	r.stopWork()
	r.eng.waiters.notify(r.row)
}

// finish answers everybody who waits for the result, which is durable.
func (r *run) finish() {
	r.eng.fault(FaultFinalAfterCommit)
	r.dropGuest()
	r.stopWork()
	r.eng.timers.set(r.id, journal.Never)
	r.eng.metrics.finished.WithLabelValues(string(r.row.State)).Inc()
	r.log.Debug("finished", "state", r.row.State)
	r.eng.waiters.notify(r.row)
}

func (r *run) emitLog(lines []logLine) {
	for _, l := range lines {
		r.log.Log(context.Background(), slog.Level(l.level), l.message)
	}
}

func randomFraction() float64 { return rand.Float64() }
