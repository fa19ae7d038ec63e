package control

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// Create makes a schedule of a namespace, a name, a spec and an input. Of its state it takes whether it is paused, and
// the note.
func (x *Schedules) Create(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return nil, err
	}
	s.Namespace = cmp.Or(s.Namespace, journal.DefaultNamespace)
	return x.deps.Schedules.Create(ctx, s)
}

// Update replaces the spec and the input of a schedule.
func (x *Schedules) Update(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return nil, err
	}
	s.Namespace = cmp.Or(s.Namespace, journal.DefaultNamespace)
	return x.deps.Schedules.Update(ctx, s)
}

// Pause has no tick of a schedule started until it is resumed.
func (x *Schedules) Pause(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return nil, err
	}
	return x.deps.Schedules.Pause(ctx, cmp.Or(namespace, journal.DefaultNamespace), name, note)
}

// Resume lets a paused schedule go on.
func (x *Schedules) Resume(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return nil, err
	}
	return x.deps.Schedules.Resume(ctx, cmp.Or(namespace, journal.DefaultNamespace), name, note)
}

// Trigger starts a run of a schedule now, by its overlap policy, once for each request. A run that waits has no outcome
// yet.
func (x *Schedules) Trigger(ctx context.Context, namespace, name, request string) (journal.ScheduleRun, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return journal.ScheduleRun{}, err
	}
	return x.deps.Schedules.Trigger(ctx, cmp.Or(namespace, journal.DefaultNamespace), name, request)
}

// Backfill starts the ticks of a range of times that have not been started, and tells how many there are in it.
func (x *Schedules) Backfill(
	ctx context.Context, namespace, name string, from, to int64, overlap journal.Overlap,
) (int, error) {
	if err := x.deps.Host.Accepting(); err != nil {
		return 0, err
	}
	return x.deps.Schedules.Backfill(ctx, cmp.Or(namespace, journal.DefaultNamespace), name, from, to, overlap)
}

// Delete deletes a schedule. Its runs go on.
func (x *Schedules) Delete(ctx context.Context, namespace, name string) error {
	if err := x.deps.Host.Accepting(); err != nil {
		return err
	}
	return x.deps.Schedules.Delete(ctx, cmp.Or(namespace, journal.DefaultNamespace), name)
}

// Describe tells how far a schedule is, with a number of its next times.
func (x *Schedules) Describe(
	ctx context.Context, namespace, name string, upcoming int,
) (*schedule.Description, error) {
	return x.deps.Schedules.Describe(ctx, cmp.Or(namespace, journal.DefaultNamespace), name, upcoming)
}

// List lists up to limit schedules of a namespace by name, from the first name above after.
func (x *Schedules) List(ctx context.Context, namespace, after string, limit int) ([]schedule.Description, error) {
	return x.deps.Schedules.List(ctx, cmp.Or(namespace, journal.DefaultNamespace), after, limit)
}
