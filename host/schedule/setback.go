package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// # A clock that was ahead
//
// A machine's clock can be wrong by years and be set right later. While it is ahead, ticks come
// before their time: some are started, and those older than the catch-up window are missed. The row
// moves past all of them. Were it left there when the clock is set back, the schedule would stand
// still until the time that the clock had shown, and the missed ticks would never have had a run.
//
// So a schedule that was ahead of the clock goes back ([plan.rewind]) and remembers how far it had
// been (Ahead). It goes back to the present, and further: time has passed while the clock was ahead,
// and the ticks of that time were dealt with in the leap forward. The row keeps the last such leaps
// (Late). They look like an outage, and are one unless the clock is behind them later.
//
// A tick on the way to Ahead is started at its time unless it has a run: its key names the run,
// also if another host started it (invariant 1 of the package). A look under the key comes before
// any other decision about such a tick, so that no policy counts, queues or makes room for a tick
// that ran long ago. A look that found nothing is committed (Looked) before the start: then a crash
// between the two commits of a start leaves a run that is adopted and counted as any other. The
// counts of skipped and missed ticks are of decisions: a tick that was missed while the clock was
// ahead is in them, and is counted again by its outcome at its time.
//
// The limit: a run that retention has deleted is not found, and its tick is started again. That
// takes a clock that was ahead for longer than finished executions are kept.
//
// A clock that is set back wakes no schedule: timers and wake times lie in the future. A
// host that starts, or sees the clock behind the time of its own last commit, reads each schedule
// that is not due once ([Schedules.review]).

const (
	// late is how long after its time a tick is dealt with for the moment to be kept.
	late    = int64(time.Minute)
	maxLate = 8
)

// moveTo moves past a tick.
func (p *plan) moveTo(at int64) {
	n := len(p.State.Late)
	noted := n > 0 && p.State.Late[n-1].At == p.now
	if !noted && dueAt(p.Schedule, p.table, at) < p.now-late {
		moment := journal.LateTicks{After: p.State.Last, At: p.now}
		if n == maxLate { // the last two become one
			n--
			moment.After = p.State.Late[n].After
		}
		p.State.Late = append(slices.Clone(p.State.Late[:n]), moment)
	}
	p.State.Last, p.changed = at, true
}

// wasAhead tells whether ticks were dealt with while the clock was ahead, and where the schedule has to go
// back to.
func wasAhead(s *journal.Schedule, now int64) (backTo int64, ahead bool) {
	backTo = min(s.State.Last, now)
	for _, l := range s.State.Late {
		if l.At > now {
			backTo = min(backTo, l.After)
		}
	}
	return backTo, backTo < s.State.Last
}

// restartsTooLate tells whether the next run of a schedule that runs always has a time of a clock that was ahead.
func restartsTooLate(s *journal.Schedule, now int64) bool {
	return s.Spec.Always && s.State.Next > now+s.Spec.RestartMax
}

// rewind goes back if the clock was ahead.
func (p *plan) rewind() {
	if backTo, ahead := wasAhead(p.Schedule, p.now); ahead {
		p.State.Ahead, p.State.Looked = max(p.State.Ahead, p.State.Last), 0
		p.State.Late = slices.DeleteFunc(slices.Clone(p.State.Late), func(l journal.LateTicks) bool {
			return l.At > p.now
		})
		p.State.Last, p.changed = backTo, true
	}
	if restartsTooLate(p.Schedule, p.now) {
		p.State.Next, p.changed = p.now+restartPause(&p.Spec, p.State.Failures), true
	}
}

// mayHaveRun tells whether a tick may have been started while the clock was ahead.
func (p *plan) mayHaveRun(at int64) bool { return at <= p.State.Ahead && at > p.State.Looked }

// waits tells whether a tick is waiting.
func (p *plan) waits(at int64) bool {
	return slices.ContainsFunc(p.State.Waiting, func(w journal.WaitingStart) bool {
		return w.At == at && w.Cause == journal.CauseTick
	})
}

// look finds out whether a tick was started while the clock was ahead, and passes over it if so.
func (r *Schedules) look(ctx context.Context, p *plan, st start) error {
	e, err := r.poll(ctx, p, p.executionOf(st))
	if err != nil {
		return err
	}
	if e == nil {
		p.State.Looked = st.at
		return nil
	}
	if !e.State.Final() {
		p.open(st)
	}
	p.leave(st)
	return nil
}

// noticeClock has all schedules reviewed if the clock is behind a time that the host has written, or
// if the host has just started and does not know.
func (r *Schedules) noticeClock() {
	now := r.Clock.Now().UnixNano()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.reviewing || r.scanned && now >= r.latest {
		return
	}
	r.reviewing, r.latest = true, now
	r.tasks.Go(func() {
		r.review(r.Context, now)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reviewing = false
	})
}

// review reads the schedules that are not due, and has those looked at that are ahead of the clock.
func (r *Schedules) review(ctx context.Context, now int64) {
	const page = 1000
	after := journal.Wake{At: now}
	for ctx.Err() == nil {
		wakes, err := r.Store.DueSchedules(ctx, journal.Never, after, page)
		for _, w := range wakes {
			if err = r.reviewOne(ctx, w.ID, now); err != nil {
				break
			}
			after = w
		}
		switch {
		case err != nil && ctx.Err() == nil:
			r.Logger.Warn("comparing schedules with the clock failed; trying again", "error", err)
			timer.Wait(ctx, r.Clock, firstRetry)
		case len(wakes) < page:
			return
		}
	}
}

func (r *Schedules) reviewOne(ctx context.Context, id journal.ID, now int64) error {
	s, err := r.Store.Schedule(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrCorrupt):
		return nil
	case err != nil:
		return err
	}
	if _, ahead := wasAhead(s, now); ahead || restartsTooLate(s, now) {
		r.EnsureInMemory(id)
	}
	return nil
}
