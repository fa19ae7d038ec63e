package schedule

import (
	"encoding/hex"
	"slices"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// maxPass bounds the ticks that are passed over before the row is committed, so that the ticks of a year take a
// second's work each time and not all of it at once.
const maxPass = 10_000

// origin is where the row of a schedule names a start.
type origin int

const (
	ofTimes    origin = iota // the first tick behind the last
	ofWaiting                // a waiting tick
	ofBackfill               // the first of the first backfill
)

// start is a start that the row of a schedule names.
type start struct {
	at      int64
	cause   journal.StartCause
	request string // of a trigger
	origin  origin
	index   int // in Waiting
}

// action is the next step of a schedule.
type action struct {
	kind      actionKind
	start     start // if it is actStart or actLook
	interrupt int   // which of the open runs, if it is actInterrupt
}

type actionKind int

const (
	actNothing   actionKind = iota
	actCommit               // commit the decisions, and ask again
	actStart                // start an execution
	actInterrupt            // ask a run to stop
	actLook                 // look whether a tick has a run already
)

// plan is a schedule at a moment. Decisions without a start it makes by itself, in the row.
type plan struct {
	*journal.Schedule
	table   Timetable // nil if it has no times
	now     int64
	changed bool // the row is not as it was committed
}

func newPlan(s *journal.Schedule, now int64) (*plan, error) {
	table, err := timetableOf(&s.Spec)
	return &plan{Schedule: s, table: table, now: now}, err
}

// keyOf is the key of the execution of a start.
func (p *plan) keyOf(st start) string {
	id := hex.EncodeToString(p.State.Incarnation[:6])
	if st.cause == journal.CauseTrigger {
		return p.Name + "@trigger-" + st.request + "@" + id
	}
	return p.Name + "@" + time.Unix(0, st.at).UTC().Format(time.RFC3339Nano) + "@" + id
}

// executionOf is the name of the execution of a start.
func (p *plan) executionOf(st start) string { return p.Spec.Workflow + "/" + p.keyOf(st) }

// next decides the next action of the schedule.
func (p *plan) next() action {
	if p.Spec.Overlap == journal.OverlapCancel && p.firstWaiting() >= 0 {
		if i := slices.IndexFunc(p.State.Open, func(r journal.OpenRun) bool { return !r.Interrupted }); i >= 0 {
			return action{kind: actInterrupt, interrupt: i}
		}
	}
	if i := p.firstWaiting(); i >= 0 && p.mayStart(p.Spec.Overlap) {
		w := p.State.Waiting[i]
		return action{
			kind: actStart, start: start{at: w.At, cause: w.Cause, request: w.Request, origin: ofWaiting, index: i},
		}
	}
	act := action{}
	if !p.Spec.Always {
		act = p.nextTick()
	}
	if act.kind == actNothing {
		act = p.nextBackfill()
	}
	if act.kind == actNothing && p.Spec.Always {
		act = p.nextAlways()
	}
	return act
}

// retime replaces the spec. Requests made by the times so far keep them.
func (p *plan) retime(spec journal.ScheduleSpec) (err error) {
	before := p.Spec
	p.State.Backfills = slices.Clone(p.State.Backfills)
	for i := range p.State.Backfills {
		if b := &p.State.Backfills[i]; b.Times == nil {
			b.Times = &before
		}
	}
	p.Spec, p.changed = spec, true
	p.table, err = timetableOf(&spec)
	return err
}

// backfillTimes are the ticks of a backfill; nil if there are none.
func (p *plan) backfillTimes(b *journal.Backfill) Timetable {
	if b.Times == nil {
		return p.table
	}
	table, err := timetableOf(b.Times)
	if err != nil {
		return nil // they were valid when they were asked for
	}
	return table
}

// nextOf is the next tick of a backfill; journal.Never if there is none.
func (p *plan) nextOf(b *journal.Backfill) int64 {
	table := p.backfillTimes(b)
	if table == nil {
		return journal.Never
	}
	if at := table.Next(b.Last); at <= b.To {
		return at
	}
	return journal.Never
}

// firstWaiting is the first that waits and may be started; -1 if there is none. While the schedule is paused ticks keep
// waiting.
func (p *plan) firstWaiting() int {
	return slices.IndexFunc(p.State.Waiting, func(w journal.WaitingStart) bool {
		return !p.State.Paused || w.Cause != journal.CauseTick
	})
}

// mayStart tells whether a policy allows a start beside the runs that are not over.
func (p *plan) mayStart(policy journal.Overlap) bool {
	if policy == journal.OverlapAllow {
		return len(p.State.Open) < maxOpen
	}
	return len(p.State.Open) == 0
}

func (p *plan) nextAlways() action {
	if p.State.Paused || p.State.Next == 0 || p.State.Next > p.now || len(p.State.Open) > 0 {
		return action{}
	}
	return action{kind: actStart, start: start{at: p.State.Next, cause: journal.CauseTick, origin: ofTimes}}
}

// firstTick is the first tick behind the last; journal.Never if there is none.
func (p *plan) firstTick() int64 {
	if p.table == nil || p.State.Paused || p.exhausted() {
		return journal.Never
	}
	return p.table.Next(p.State.Last)
}

// tick is the first tick behind the last, if it is due.
func (p *plan) tick() (at int64, due bool) {
	at = p.firstTick()
	return at, at != journal.Never && dueAt(p.Schedule, p.table, at) <= p.now
}

// isHeld tells whether a tick is due that may overlap, beside as many runs as there may be.
func (p *plan) isHeld() bool {
	_, due := p.tick()
	return due && p.Spec.Overlap == journal.OverlapAllow && !p.mayStart(journal.OverlapAllow)
}

func (p *plan) exhausted() bool {
	return p.Spec.MaxRuns > 0 && p.State.Ticks+p.waitingTicks() >= p.Spec.MaxRuns
}

func (p *plan) waitingTicks() (n int64) {
	for _, w := range p.State.Waiting {
		if w.Cause == journal.CauseTick {
			n++
		}
	}
	return n
}

// nextTick goes through the ticks that are due until one is to be started.
func (p *plan) nextTick() action {
	for range maxPass {
		at, due := p.tick()
		switch {
		case !due:
			return action{}
		case p.mayHaveRun(at) && p.waits(at):
			p.moveTo(at)
		case p.mayHaveRun(at):
			return action{kind: actLook, start: start{at: at, cause: journal.CauseTick, origin: ofTimes}}
		case dueAt(p.Schedule, p.table, at) < p.now-p.Spec.CatchUp:
			p.pass(at, journal.OutcomeMissed)
		case p.firstWaiting() < 0 && p.mayStart(p.Spec.Overlap):
			// That it had no run is committed before it has one: see adopt.
			p.changed = p.changed || at <= p.State.Ahead
			return action{kind: actStart, start: start{at: at, cause: journal.CauseTick, origin: ofTimes}}
		case p.Spec.Overlap == journal.OverlapCancel:
			p.supersede(at)
			return action{kind: actCommit}
		case p.Spec.Overlap == journal.OverlapAllow:
			return action{} // when a run ends
		case p.Spec.Overlap == journal.OverlapQueue && p.waitingTicks() < int64(p.Spec.MaxQueued):
			p.wait(at)
		default:
			p.pass(at, journal.OutcomeSkipped)
		}
	}
	return action{kind: actCommit}
}

// pass moves past a tick that is not started.
func (p *plan) pass(at int64, outcome journal.ScheduleOutcome) {
	p.moveTo(at)
	p.count(outcome)
	p.note(journal.ScheduleRun{At: at, Cause: journal.CauseTick, Done: p.now, Outcome: outcome})
}

// passDue moves past the ticks that are due and could not be started.
func (p *plan) passDue() {
	for at, due := p.tick(); due; at, due = p.tick() {
		p.pass(at, journal.OutcomeSkipped)
	}
}

// wait has a tick wait for the runs that are not over.
func (p *plan) wait(at int64) {
	p.moveTo(at)
	p.State.Waiting = append(p.State.Waiting, journal.WaitingStart{At: at, Cause: journal.CauseTick})
}

// supersede has a tick wait in the place of the waiting ones.
func (p *plan) supersede(at int64) {
	var kept []journal.WaitingStart
	for _, w := range p.State.Waiting {
		if w.Cause != journal.CauseTick {
			kept = append(kept, w)
			continue
		}
		p.count(journal.OutcomeSkipped)
		p.note(journal.ScheduleRun{At: w.At, Cause: w.Cause, Done: p.now, Outcome: journal.OutcomeSkipped})
	}
	p.State.Waiting = kept
	p.wait(at)
}

func (p *plan) nextBackfill() action {
	for len(p.State.Backfills) > 0 {
		b := p.State.Backfills[0]
		at := p.nextOf(&b)
		if at == journal.Never {
			p.State.Backfills, p.changed = slices.Delete(p.State.Backfills, 0, 1), true
			continue
		}
		if !p.mayStart(b.Overlap) {
			return action{}
		}
		return action{kind: actStart, start: start{at: at, cause: journal.CauseBackfill, origin: ofBackfill}}
	}
	return action{}
}

// candidates are all the starts that the row names: one of them may have begun without being recorded. It need not be
// due: the clock may have been ahead when it was started.
func (p *plan) candidates() []start {
	var all []start
	for i, w := range p.State.Waiting {
		all = append(all, start{at: w.At, cause: w.Cause, request: w.Request, origin: ofWaiting, index: i})
	}
	if p.Spec.Always && p.State.Next != 0 {
		all = append(all, start{at: p.State.Next, cause: journal.CauseTick, origin: ofTimes})
	}
	if at := p.firstTick(); at != journal.Never && !p.mayHaveRun(at) {
		all = append(all, start{at: at, cause: journal.CauseTick, origin: ofTimes})
	}
	if len(p.State.Backfills) > 0 {
		if at := p.nextOf(&p.State.Backfills[0]); at != journal.Never {
			all = append(all, start{at: at, cause: journal.CauseBackfill, origin: ofBackfill})
		}
	}
	return all
}

// begun records an execution that is there: started just now, or long ago. A repeated request of a
// person is passed over; a tick that a person had started before its time is a tick still.
func (p *plan) begun(st start, state journal.State, existed bool) {
	if !existed || st.cause == journal.CauseTick {
		p.started(st, state)
		return
	}
	p.open(st)
	p.leave(st)
}

// started records a start.
func (p *plan) started(st start, state journal.State) {
	p.count(journal.OutcomeStarted)
	if st.cause == journal.CauseTick {
		p.State.Ticks++
	}
	p.note(journal.ScheduleRun{
		At:        st.at,
		Cause:     st.cause,
		Done:      p.now,
		Execution: p.executionOf(st),
		Outcome:   journal.OutcomeStarted,
		State:     state,
	})
	p.open(st)
	p.leave(st)
}

// open adds the run of a start to the open runs.
func (p *plan) open(st start) {
	execution := p.executionOf(st)
	known := slices.ContainsFunc(p.State.Open, func(r journal.OpenRun) bool { return r.Execution == execution })
	if !known {
		p.State.Open = append(p.State.Open, journal.OpenRun{At: st.at, Execution: execution})
	}
}

// refused records that a start is not possible.
func (p *plan) refused(st start, cause *abi.Error) {
	p.leave(st)
	p.count(journal.OutcomeRefused)
	p.note(journal.ScheduleRun{
		At: st.at, Cause: st.cause, Done: p.now, Error: journal.Brief(cause), Outcome: journal.OutcomeRefused,
	})
	if p.Spec.Always {
		p.State.Failures++
		p.State.Next = p.now + restartPause(&p.Spec, p.State.Failures)
	}
}

// leave moves past the origin of the start: a waiting tick, a backfill or the next tick.
func (p *plan) leave(st start) {
	p.changed = true
	switch {
	case st.origin == ofWaiting:
		p.State.Waiting = slices.Delete(slices.Clone(p.State.Waiting), st.index, st.index+1)
	case st.origin == ofBackfill:
		p.State.Backfills = slices.Clone(p.State.Backfills)
		p.State.Backfills[0].Last = st.at
	case p.Spec.Always:
		p.State.Last, p.State.Next = st.at, 0
	default:
		p.moveTo(st.at)
	}
}

// over records that a run has ended, or is gone.
func (p *plan) over(execution string, state journal.State, finished int64) {
	i := slices.IndexFunc(p.State.Open, func(r journal.OpenRun) bool { return r.Execution == execution })
	if i < 0 {
		return
	}
	run := p.State.Open[i]
	p.State.Open = slices.Delete(slices.Clone(p.State.Open), i, i+1)
	p.looked(execution, state)
	if !p.Spec.Always || len(p.State.Open) > 0 {
		return
	}
	// How it ended is committed, so that the next run has a time, and with that a key, before it is started.
	p.changed = true
	switch {
	case state != journal.Failed:
		p.State.Failures = 0
	case finished-run.At > p.Spec.RestartMax:
		p.State.Failures = 1 // it had been well
	default:
		p.State.Failures++
	}
	// If the clock was ahead, the run began or ended in the future.
	p.State.Next = min(max(finished, run.At), p.now) + restartPause(&p.Spec, p.State.Failures)
}

// restartPause is the pause before the next run of a schedule that runs always.
func restartPause(spec *journal.ScheduleSpec, failures uint32) int64 {
	pause := spec.RestartMin
	for range min(failures, 64) - min(failures, 1) {
		if pause >= spec.RestartMax/2 {
			return spec.RestartMax
		}
		pause *= 2
	}
	return min(pause, spec.RestartMax)
}

// looked notes the state of a run.
func (p *plan) looked(execution string, state journal.State) {
	for i := range p.State.Recent {
		if p.State.Recent[i].Execution == execution {
			p.State.Recent[i].State = state
		}
	}
}

func (p *plan) count(outcome journal.ScheduleOutcome) {
	switch outcome {
	case journal.OutcomeStarted:
		p.State.Started++
	case journal.OutcomeSkipped:
		p.State.Skipped++
	case journal.OutcomeMissed:
		p.State.Missed++
	case journal.OutcomeRefused:
		p.State.Refused++
	}
}

// note keeps the last runs. Ticks in a row that were not started are one of them.
func (p *plan) note(run journal.ScheduleRun) {
	run.Count = 1
	if last := len(p.State.Recent) - 1; last >= 0 && run.Execution == "" && run.Error == nil &&
		run.Cause == journal.CauseTick {
		if before := p.State.Recent[last]; before.Outcome == run.Outcome && before.Cause == run.Cause {
			run.Count += before.Count
			p.State.Recent = p.State.Recent[:last]
		}
	}
	p.State.Recent = append(p.State.Recent, run)
	if extra := len(p.State.Recent) - maxRecent; extra > 0 {
		p.State.Recent = slices.Clone(p.State.Recent[extra:])
	}
}

// awaitsEnd tells whether the schedule goes on when a run ends, and not at a time.
func (p *plan) awaitsEnd() bool {
	if len(p.State.Open) == 0 {
		return false
	}
	return p.firstWaiting() >= 0 || len(p.State.Backfills) > 0 || p.Spec.Always && !p.State.Paused || p.isHeld()
}

// wakeAt is when the schedule must be looked at again, by a host that knows nothing of it.
func (p *plan) wakeAt() int64 {
	switch {
	case p.firstWaiting() >= 0 || len(p.State.Backfills) > 0:
		return journal.Now
	case p.Spec.Always && p.State.Paused:
		return journal.Never
	case p.Spec.Always && p.State.Next == 0:
		return journal.Now // when its run ends
	case p.Spec.Always:
		return p.State.Next
	default:
		return p.nextDue()
	}
}

// nextDue is when the next tick is due; journal.Never if there is none.
func (p *plan) nextDue() int64 {
	at := p.firstTick()
	if at == journal.Never {
		return journal.Never
	}
	return dueAt(p.Schedule, p.table, at)
}

// upcoming are the next times, up to n.
func (p *plan) upcoming(n int) []int64 {
	if p.table == nil || p.State.Paused {
		return nil
	}
	if p.Spec.MaxRuns > 0 {
		n = int(min(int64(n), max(0, p.Spec.MaxRuns-p.State.Ticks-p.waitingTicks())))
	}
	var times []int64
	for at := p.table.Next(max(p.State.Last, p.now)); at != journal.Never && len(times) < n; at = p.table.Next(at) {
		times = append(times, at)
	}
	return times
}
