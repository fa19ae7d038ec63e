package host

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/recovery"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/host/timer"
	"github.com/cruster/cruster/journal"
)

// ScheduleDescription is a schedule with its next times.
type ScheduleDescription = schedule.Description

// wireSchedules builds the room of schedules. It has timers of its own: schedules are no
// executions.
func (e *Engine) wireSchedules() {
	e.ticks = timer.New(e.clock, func(id journal.ID) {
		if !e.state.Draining() {
			e.schedules.EnsureInMemory(id)
		}
	}, nil)
	e.schedules = schedule.New(schedule.Deps{
		Clock: e.clock, Context: e.state.Context(), Declared: e.declared, Fault: faultpoint.Injector(e.cfg.FaultPoint), Logger: e.log,
		Starter: starter{e}, Store: ownedSchedules{e.writer, e.store}, Timers: e.ticks,
	})
}

// startSchedules lets ticks come.
func (e *Engine) startSchedules() {
	scanner := recovery.Scanner{
		Clock: e.clock, Executions: e.schedules, HasRoom: e.schedules.HasRoom, Logger: e.log.With("of", "schedules"),
		Scanned: e.schedules.Scanned, Store: dueSchedules{e.store}, Timers: e.ticks,
	}
	e.goBackground(e.ticks.Run)
	e.goBackground(scanner.Run)
	e.goBackground(func(ctx context.Context) {
		<-ctx.Done()
		e.schedules.Close()
	})
}

// ownedSchedules writes under the fences of this host.
type ownedSchedules struct {
	*writer
	journal.ScheduleStore
}

// SaveSchedule writes a schedule.
func (o ownedSchedules) SaveSchedule(ctx context.Context, s journal.Schedule, most int) error {
	return o.writer.SaveSchedule(ctx, s, most)
}

// DeleteSchedule deletes a schedule.
func (o ownedSchedules) DeleteSchedule(ctx context.Context, id journal.ID, version int64) error {
	return o.writer.DeleteSchedule(ctx, id, version)
}

// dueSchedules lists schedules where executions are listed otherwise.
type dueSchedules struct{ journal.ScheduleStore }

// Due lists schedules by their wake time.
func (d dueSchedules) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return d.DueSchedules(ctx, until, after, limit)
}

// starter starts executions for schedules.
type starter struct{ *Engine }

var _ schedule.Starter = starter{}

// CheckStart implements schedule.Starter.
func (s starter) CheckStart(ctx context.Context, namespace, workflow string, input []byte) ([]byte, error) {
	w, err := s.catalog.Workflow(ctx, namespace, workflow)
	if err != nil {
		return nil, err
	}
	return w.CheckRequest(input)
}

// Start implements schedule.Starter.
func (s starter) Start(ctx context.Context, namespace, workflow, key string, input []byte) (row *journal.Execution, existed bool, err error) {
	return s.StartWorkflow(ctx, StartRequest{Namespace: namespace, Workflow: workflow, Input: input, Key: key, KeyMode: abi.KeyRaw})
}

// CreateSchedule makes a schedule of a namespace, a name, a spec and an input. Of its state
// it takes whether it is paused, and the note.
func (e *Engine) CreateSchedule(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	s.Namespace = namespaceOf(s.Namespace)
	return e.schedules.Create(ctx, s)
}

// UpdateSchedule replaces the spec and the input of a schedule.
func (e *Engine) UpdateSchedule(ctx context.Context, s journal.Schedule) (*journal.Schedule, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	s.Namespace = namespaceOf(s.Namespace)
	return e.schedules.Update(ctx, s)
}

// PauseSchedule has no tick of a schedule started until it is resumed.
func (e *Engine) PauseSchedule(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	return e.schedules.Pause(ctx, namespaceOf(namespace), name, note)
}

// ResumeSchedule lets a paused schedule go on.
func (e *Engine) ResumeSchedule(ctx context.Context, namespace, name, note string) (*journal.Schedule, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	return e.schedules.Resume(ctx, namespaceOf(namespace), name, note)
}

// TriggerSchedule starts a run of a schedule now, by its overlap policy, once for each
// request. A run that waits has no outcome yet.
func (e *Engine) TriggerSchedule(ctx context.Context, namespace, name, request string) (journal.ScheduleRun, error) {
	if err := e.state.Accepting(); err != nil {
		return journal.ScheduleRun{}, err
	}
	return e.schedules.Trigger(ctx, namespaceOf(namespace), name, request)
}

// BackfillSchedule starts the ticks of a range of times that have not been started, and
// tells how many there are in it.
func (e *Engine) BackfillSchedule(ctx context.Context, namespace, name string, from, to int64, overlap journal.Overlap) (int, error) {
	if err := e.state.Accepting(); err != nil {
		return 0, err
	}
	return e.schedules.Backfill(ctx, namespaceOf(namespace), name, from, to, overlap)
}

// DeleteSchedule deletes a schedule. Its runs go on.
func (e *Engine) DeleteSchedule(ctx context.Context, namespace, name string) error {
	if err := e.state.Accepting(); err != nil {
		return err
	}
	return e.schedules.Delete(ctx, namespaceOf(namespace), name)
}

// Schedule tells how far a schedule is, with a number of its next times.
func (e *Engine) Schedule(ctx context.Context, namespace, name string, upcoming int) (*ScheduleDescription, error) {
	return e.schedules.Describe(ctx, namespaceOf(namespace), name, upcoming)
}

// Schedules lists up to limit schedules of a namespace by name, those with a name above
// after.
func (e *Engine) Schedules(ctx context.Context, namespace, after string, limit int) ([]ScheduleDescription, error) {
	return e.schedules.List(ctx, namespaceOf(namespace), after, limit)
}
