package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Description is a schedule with its derived data.
type Description struct {
	journal.Schedule
	// Upcoming are the next times, without jitter.
	Upcoming []int64
}

// Create makes a schedule. Its first tick is the first after this moment.
func (r *Schedules) Create(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	if err := CheckName(s.Name); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, &s); err != nil {
		return nil, err
	}
	if err := checkNote(s.State.Note); err != nil {
		return nil, err
	}
	return r.create(ctx, s)
}

// create makes a schedule that was checked.
func (r *Schedules) create(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	now := r.Clock.Now().UnixNano()
	s.Version = 0
	s.State = journal.ScheduleState{
		CreatedAt:   now,
		Incarnation: journal.NewRunID(),
		Last:        now,
		Note:        s.State.Note,
		Paused:      s.State.Paused,
		UpdatedAt:   now,
	}
	if s.Spec.Always {
		s.State.Next = now
	}
	release, err := r.acquire(ctx, s.ID())
	if err != nil {
		return nil, err
	}
	defer release()
	p, err := newPlan(&s, now)
	if err != nil {
		return nil, err
	}
	if err := r.commit(ctx, p); err != nil {
		return nil, created(&s, err)
	}
	r.arm(p)
	if p.wakeAt() <= now {
		r.EnsureInMemory(s.ID())
	}
	return &s, nil
}

// prepare validates the definition of a schedule, and fills in defaults.
func (r *Schedules) prepare(ctx context.Context, s *journal.Schedule) (err error) {
	if s.Spec, err = normalize(s.Spec); err != nil {
		return err
	}
	if err := checkInput(s.Input); err != nil {
		return err
	}
	s.Input, err = r.Starter.CheckStart(ctx, s.Namespace, s.Spec.Workflow, s.Input)
	return err
}

// created says why a schedule was not created.
func created(s *journal.Schedule, err error) error {
	switch {
	case errors.Is(err, journal.ErrStale):
		return abi.Errorf(abi.CodeScheduleExists, "there is a schedule %s", s.Name)
	case errors.Is(err, journal.ErrTooMany):
		return abi.Errorf(abi.CodeTooManySchedules, "the namespace %s has %d schedules", s.Namespace, MaxSchedules)
	default:
		return journal.Coded("create schedule "+s.Name, err)
	}
}

// change changes an existing schedule. Ticks due by the rules so far are handled first, ticks due
// by the new ones behind them.
func (r *Schedules) change(
	ctx context.Context, namespace, name string, do func(p *plan) error,
) (*journal.Schedule, error) {
	if err := checkAnyName(name); err != nil {
		return nil, err
	}
	id := journal.ScheduleID(namespace, name)
	release, err := r.acquire(ctx, id)
	if err != nil {
		return nil, err
	}
	defer release()
	s, err := r.load(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	p, err := r.openToChange(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := r.advance(ctx, p); err != nil {
		// A host that is full can be told to pause its schedules. Whether the start that failed took place after all
		// has to be known before.
		if s, err = r.load(ctx, namespace, name); err != nil {
			return nil, err
		}
	}
	if p, err = r.openToChange(ctx, s); err != nil {
		return nil, err
	}
	before := p.Version
	if err := do(p); err != nil {
		return nil, err
	}
	if p.changed {
		p.State.UpdatedAt = p.now
		if err := r.commit(ctx, p); err != nil {
			return nil, journal.Coded("change schedule "+name, err)
		}
	}
	if p.Version != before {
		// The change is durable. The caller does not fail for its consequences.
		if err := r.advance(ctx, p); err != nil {
			r.EnsureInMemory(id)
		}
	}
	return s, nil
}

// openToChange is open for a client that wants to change something.
func (r *Schedules) openToChange(ctx context.Context, s *journal.Schedule) (*plan, error) {
	p, err := r.open(ctx, s)
	switch {
	case err != nil:
		return nil, journal.Coded("look at schedule "+s.Name, err)
	case p == nil:
		return nil, abi.Errorf(abi.CodeHostFault, "what is stored of schedule %s is not valid", s.Name).WithHint(
			"Delete it and create it anew.",
		)
	}
	return p, nil
}

func (r *Schedules) load(ctx context.Context, namespace, name string) (*journal.Schedule, error) {
	s, err := r.Store.Schedule(ctx, journal.ScheduleID(namespace, name))
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, r.noSchedule(ctx, namespace, name)
	case err != nil:
		return nil, journal.Coded("load schedule "+name, err)
	}
	return s, nil
}

// noSchedule says that there is no schedule of that name, and which one was probably meant:
// declared schedules carry the name of their deployment, which is easily left out.
func (r *Schedules) noSchedule(ctx context.Context, namespace, name string) error {
	const looked = 1000
	var names []string
	var near []abi.Spelling
	// Without the names there is nothing to suggest; the answer is the same.
	all, _ := r.page(ctx, namespace, "", looked)
	for i := range all {
		names = append(names, all[i].Name)
		if _, short, declared := strings.Cut(all[i].Name, "/"); declared {
			near = append(near, abi.Spelling{Text: short, Of: all[i].Name})
		}
	}
	return abi.Errorf(abi.CodeScheduleNotFound, "there is no schedule %q%s", name, abi.DidYouMean(name, names, near...))
}

// Update replaces the definition of a schedule. Ticks of the new times begin after this moment;
// waiting ticks go on waiting, and a backfill has the ticks it was asked for.
func (r *Schedules) Update(ctx context.Context, want journal.Schedule) (*journal.Schedule, error) {
	if err := checkOwnName(want.Name); err != nil {
		return nil, err
	}
	if err := r.prepare(ctx, &want); err != nil {
		return nil, err
	}
	return r.change(ctx, want.Namespace, want.Name, func(p *plan) error { return p.replace(want) })
}

// replace replaces the definition of the schedule.
func (p *plan) replace(want journal.Schedule) error {
	wasAlways := p.Spec.Always
	p.passDue()
	if err := p.retime(want.Spec); err != nil {
		return err
	}
	p.Input = want.Input
	p.State.Last = max(p.State.Last, p.now)
	if wasAlways && !p.Spec.Always {
		p.State.Next, p.State.Failures = 0, 0
	}
	if !wasAlways && p.Spec.Always && len(p.State.Open) == 0 {
		p.State.Next = p.now
	}
	return nil
}

// Pause has no tick started until the schedule is resumed.
func (r *Schedules) Pause(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	return r.setPaused(ctx, namespace, name, note, true)
}

// Resume lets ticks be started again. The ticks of the time between are gone.
func (r *Schedules) Resume(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	return r.setPaused(ctx, namespace, name, note, false)
}

func (r *Schedules) setPaused(
	ctx context.Context, namespace, name, note string, paused bool,
) (*journal.Schedule, error) {
	if err := checkNote(note); err != nil {
		return nil, err
	}
	return r.change(ctx, namespace, name, func(p *plan) error {
		p.passDue()
		if p.State.Paused && !paused {
			p.State.Last = max(p.State.Last, p.now)
		}
		p.changed = p.changed || p.State.Paused != paused || p.State.Note != note
		p.State.Paused, p.State.Note = paused, note
		return nil
	})
}

// Trigger starts a run now, by the overlap policy. Request tells one from another: the same is not
// started twice. The returned run has its outcome; a waiting one has none yet.
func (r *Schedules) Trigger(ctx context.Context, namespace, name, request string) (run journal.ScheduleRun, err error) {
	if !validRequest.MatchString(request) {
		return run, invalid("%.80q is not a valid id of a request", request).WithHint(
			"Ids are 1 to 64 letters, digits, '_', '-' and '.'.",
		)
	}
	var execution string
	s, err := r.change(ctx, namespace, name, func(p *plan) error {
		execution = p.executionOf(start{cause: journal.CauseTrigger, request: request})
		return p.trigger(execution, request)
	})
	if err != nil {
		return run, err
	}
	if i := indexOf(s.State.Recent, execution); i >= 0 {
		return s.State.Recent[i], nil
	}
	return journal.ScheduleRun{At: s.State.UpdatedAt, Cause: journal.CauseTrigger, Execution: execution}, nil
}

func indexOf(runs []journal.ScheduleRun, execution string) int {
	return slices.IndexFunc(runs, func(run journal.ScheduleRun) bool { return run.Execution == execution })
}

// trigger has a run started by the overlap policy, unless that was asked for before.
func (p *plan) trigger(execution, request string) error {
	asked := slices.ContainsFunc(p.State.Waiting, func(w journal.WaitingStart) bool {
		return w.Request == request && w.Cause == journal.CauseTrigger
	})
	if asked || indexOf(p.State.Recent, execution) >= 0 {
		return nil
	}
	p.changed = true
	switch {
	case p.Spec.Overlap == journal.OverlapSkip && len(p.State.Open) > 0,
		p.Spec.Overlap == journal.OverlapAllow && !p.mayStart(journal.OverlapAllow):
		p.count(journal.OutcomeSkipped)
		p.note(journal.ScheduleRun{
			At: p.now, Cause: journal.CauseTrigger, Done: p.now, Execution: execution, Outcome: journal.OutcomeSkipped,
		})
		return nil
	case len(p.State.Waiting) >= maxQueued:
		p.changed = false
		return invalid("%d runs of schedule %s wait already", len(p.State.Waiting), p.Name).WithHint(
			"Wait until they are over, or interrupt them.",
		)
	}
	if p.Spec.Always {
		p.State.Next = 0 // this is the next run
	}
	p.State.Waiting = append(p.State.Waiting, journal.WaitingStart{
		At: p.now, Cause: journal.CauseTrigger, Request: request,
	})
	return nil
}

// Backfill starts the ticks from a time on up to another, both included, that have not been started: one after the
// other, or all at once if that is allowed. It tells how many there are.
func (r *Schedules) Backfill(
	ctx context.Context, namespace, name string, from, to int64, overlap journal.Overlap,
) (ticks int, err error) {
	_, err = r.change(ctx, namespace, name, func(p *plan) error {
		ticks, err = p.backfill(from, to, overlap)
		return err
	})
	return ticks, err
}

func (p *plan) backfill(from, to int64, overlap journal.Overlap) (ticks int, err error) {
	if overlap == "" {
		overlap = journal.OverlapQueue
		if p.Spec.Overlap == journal.OverlapAllow {
			overlap = journal.OverlapAllow
		}
	}
	switch {
	case p.table == nil:
		return 0, invalid("schedule %s runs always and has no ticks", p.Name)
	case overlap != journal.OverlapQueue && overlap != journal.OverlapAllow:
		return 0, invalid("a backfill cannot have the overlap policy %.80q", string(overlap)).
			WithHint("With queue its ticks are started one after the other, with allow all at once.")
	case from <= 0 || from > to:
		return 0, invalid("a backfill from %v to %v is no range", instant(from), instant(to))
	case to > p.now:
		return 0, invalid("a backfill to %v reaches into the future", instant(to)).WithHint(
			"Ticks that are to come are started at their time.",
		)
	case len(p.State.Backfills) >= maxBackfills:
		return 0, invalid("schedule %s has %d backfills to do already", p.Name, maxBackfills).WithHint(
			"Wait until they are done.",
		)
	}
	for at := p.table.Next(from - 1); at <= to; at = p.table.Next(at) {
		if ticks++; ticks > MaxBackfill {
			return 0, invalid(
				"a backfill from %v to %v has more than %d ticks", instant(from), instant(to), MaxBackfill,
			).WithHint("Choose a shorter range.")
		}
	}
	if ticks > 0 {
		p.State.Backfills, p.changed = append(p.State.Backfills, journal.Backfill{
			Last: from - 1, To: to, Overlap: overlap,
		}), true
	}
	return ticks, nil
}

func instant(at int64) string { return time.Unix(0, at).UTC().Format(time.RFC3339) }

// Delete deletes a schedule. Its runs go on.
func (r *Schedules) Delete(ctx context.Context, namespace, name string) error {
	if err := checkOwnName(name); err != nil {
		return err
	}
	return r.delete(ctx, namespace, name)
}

func (r *Schedules) delete(ctx context.Context, namespace, name string) error {
	id := journal.ScheduleID(namespace, name)
	release, err := r.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	s, err := r.load(ctx, namespace, name)
	if err != nil {
		return err
	}
	if err := r.Store.DeleteSchedule(ctx, id, s.Version); err != nil {
		return journal.Coded("delete schedule "+name, err)
	}
	r.forget(id)
	r.Timers.Leave(id, journal.Never)
	return nil
}

// Describe tells how far a schedule is, with the states of its runs as they are now and its next times.
func (r *Schedules) Describe(ctx context.Context, namespace, name string, upcoming int) (*Description, error) {
	if err := checkAnyName(name); err != nil {
		return nil, err
	}
	if upcoming < 0 || upcoming > MaxUpcoming {
		return nil, invalid("%d next times are not between 0 and %d", upcoming, MaxUpcoming)
	}
	s, err := r.load(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	p, err := newPlan(s, r.Clock.Now().UnixNano())
	if err != nil {
		return nil, err
	}
	if err := r.lookAtRuns(ctx, p); err != nil {
		return nil, err
	}
	return &Description{Schedule: *s, Upcoming: p.upcoming(upcoming)}, nil
}

// List lists the schedules of a namespace by name, from the first name above after, each with its next time.
func (r *Schedules) List(ctx context.Context, namespace, after string, limit int) ([]Description, error) {
	page, err := r.page(ctx, namespace, after, limit)
	if err != nil {
		return nil, journal.Coded("list schedules", err)
	}
	now := r.Clock.Now().UnixNano()
	list := make([]Description, len(page))
	for i := range page {
		list[i].Schedule = page[i]
		if p, err := newPlan(&page[i], now); err == nil {
			list[i].Upcoming = p.upcoming(1)
		}
	}
	return list, nil
}

// page reads a page of schedules, without the rows that say that a deployment has to be looked at.
func (r *Schedules) page(ctx context.Context, namespace, after string, limit int) (page []journal.Schedule, err error) {
	for {
		read, err := r.Store.Schedules(ctx, namespace, after, limit-len(page))
		if err != nil || len(read) == 0 {
			return page, err
		}
		after = read[len(read)-1].Name
		for i := range read {
			if !isMarker(read[i].Name) {
				page = append(page, read[i])
			}
		}
		if len(page) == limit {
			return page, nil
		}
	}
}
