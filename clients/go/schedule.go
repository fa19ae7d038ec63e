package client

import (
	"context"
	"crypto/rand"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// Times are the times of a schedule, made with [Cron], [Every] or [Always].
type Times struct{ set func(*crusterv1.ScheduleSpec) }

// Cron are the times of a cron expression in a time zone with an IANA name; an empty one is UTC.
func Cron(expression, zone string) Times {
	return Times{func(s *crusterv1.ScheduleSpec) {
		s.Times, s.TimeZone = &crusterv1.ScheduleSpec_Cron{Cron: expression}, zone
	}}
}

// Every is a time every so often, counted from 1970 on plus the offset.
func Every(interval, offset time.Duration) Times {
	return Times{func(s *crusterv1.ScheduleSpec) {
		s.Times = &crusterv1.ScheduleSpec_Interval{
			Interval: &crusterv1.Interval{Every: durationpb.New(interval), Offset: durationpb.New(offset)},
		}
	}}
}

// Always has no times: the next run begins when the one before has ended, after a pause that
// doubles with each failure. Zero pauses are the host's defaults.
func Always(minPause, maxPause time.Duration) Times {
	return Times{func(s *crusterv1.ScheduleSpec) {
		s.Times = &crusterv1.ScheduleSpec_Always{
			Always: &crusterv1.Always{MinPause: durationpb.New(minPause), MaxPause: durationpb.New(maxPause)},
		}
	}}
}

// ScheduleOptions say how the workflow is started at its times. The zero value has the host's defaults.
type ScheduleOptions struct {
	// CatchUp is how old a tick may be when it is started, if no host could start it in time. Defaults to one hour.
	CatchUp time.Duration
	// Jitter is by how much a tick is started later at most.
	Jitter time.Duration
	// MaxQueued is how many ticks wait at most. Defaults to 10 if the policy is queue.
	MaxQueued int
	// MaxRuns is after how many ticks the schedule ends. Defaults to never.
	MaxRuns int64
	// NotAfter and NotBefore bound the times, if they are set.
	NotAfter  time.Time
	NotBefore time.Time
	// Overlap is the policy for a tick while an earlier run is still running. Defaults to skip.
	Overlap crusterv1.Overlap
}

// Schedule is a schedule of a host, known by its name.
type Schedule struct {
	client *Client
	name   string
}

// Schedule binds a schedule by its name. It does not ask the host whether there is one.
func (c *Client) Schedule(name string) Schedule { return Schedule{c, name} }

// Schedule makes a schedule that starts the workflow with a request at its times. Each tick is one execution, whose key
// is made of the schedule and the time.
func (w WorkflowOf[Req, Res]) Schedule(
	ctx context.Context, name string, req Req, times Times, opts ScheduleOptions,
) (Schedule, error) {
	spec, err := w.scheduleSpec(req, times, opts)
	if err != nil {
		return Schedule{}, err
	}
	_, err = w.client.Schedules().CreateSchedule(ctx, &crusterv1.CreateScheduleRequest{
		Namespace: w.client.namespace, Name: name, Spec: spec,
	})
	return w.client.Schedule(name), err
}

// Reschedule replaces the action and the times of a schedule.
func (w WorkflowOf[Req, Res]) Reschedule(
	ctx context.Context, name string, req Req, times Times, opts ScheduleOptions,
) error {
	spec, err := w.scheduleSpec(req, times, opts)
	if err != nil {
		return err
	}
	_, err = w.client.Schedules().UpdateSchedule(ctx, &crusterv1.UpdateScheduleRequest{
		Namespace: w.client.namespace, Name: name, Spec: spec,
	})
	return err
}

func (w WorkflowOf[Req, Res]) scheduleSpec(
	req Req, times Times, opts ScheduleOptions,
) (*crusterv1.ScheduleSpec, error) {
	start, err := w.options(req)
	if err != nil {
		return nil, err
	}
	spec := &crusterv1.ScheduleSpec{
		Workflow:  w.name,
		Input:     start.GetInput(),
		Jitter:    durationpb.New(opts.Jitter),
		Overlap:   opts.Overlap,
		MaxQueued: int32(opts.MaxQueued),
		CatchUp:   durationpb.New(opts.CatchUp),
		MaxRuns:   opts.MaxRuns,
		StartTime: instant(opts.NotBefore),
		EndTime:   instant(opts.NotAfter),
	}
	if times.set != nil {
		times.set(spec)
	}
	return spec, nil
}

func instant(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Name is the schedule's name.
func (s Schedule) Name() string { return s.name }

// Describe returns the schedule with its last runs and its next times.
func (s Schedule) Describe(ctx context.Context) (*crusterv1.Schedule, error) {
	resp, err := s.client.Schedules().GetSchedule(ctx, &crusterv1.GetScheduleRequest{
		Namespace: s.client.namespace, Name: s.name,
	})
	return resp.GetSchedule(), err
}

// Pause has no tick started until the schedule is resumed. The note is for people.
func (s Schedule) Pause(ctx context.Context, note string) error {
	_, err := s.client.Schedules().PauseSchedule(ctx, &crusterv1.PauseScheduleRequest{
		Namespace: s.client.namespace, Name: s.name, Note: note,
	})
	return err
}

// Resume lets a paused schedule go on.
func (s Schedule) Resume(ctx context.Context, note string) error {
	_, err := s.client.Schedules().ResumeSchedule(ctx, &crusterv1.ResumeScheduleRequest{
		Namespace: s.client.namespace, Name: s.name, Note: note,
	})
	return err
}

// Trigger starts a run now, by the overlap policy. It is started once, also if the call has to be repeated because its
// answer was lost.
func (s Schedule) Trigger(ctx context.Context) (*crusterv1.ScheduleRun, error) {
	resp, err := s.client.Schedules().TriggerSchedule(ctx, &crusterv1.TriggerScheduleRequest{
		Namespace: s.client.namespace, Name: s.name, RequestId: rand.Text(),
	})
	return resp.GetRun(), err
}

// Backfill starts the ticks from a time on up to another, both included, that have not been started. It tells how many
// there are.
func (s Schedule) Backfill(ctx context.Context, from, to time.Time, overlap crusterv1.Overlap) (int, error) {
	resp, err := s.client.Schedules().BackfillSchedule(ctx, &crusterv1.BackfillScheduleRequest{
		Namespace: s.client.namespace,
		Name:      s.name,
		StartTime: timestamppb.New(from),
		EndTime:   timestamppb.New(to),
		Overlap:   overlap,
	})
	return int(resp.GetTicks()), err
}

// Delete deletes the schedule. Its runs go on.
func (s Schedule) Delete(ctx context.Context) error {
	_, err := s.client.Schedules().DeleteSchedule(ctx, &crusterv1.DeleteScheduleRequest{
		Namespace: s.client.namespace, Name: s.name,
	})
	return err
}

// AllSchedules yields the schedules of the namespace by name. An error is the last that it yields.
func (c *Client) AllSchedules(ctx context.Context) iter.Seq2[*crusterv1.Schedule, error] {
	return func(yield func(*crusterv1.Schedule, error) bool) {
		for token, more := "", true; more; more = token != "" {
			resp, err := c.Schedules().ListSchedules(ctx, &crusterv1.ListSchedulesRequest{
				Namespace: c.namespace, PageToken: token,
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, s := range resp.GetSchedules() {
				if !yield(s, nil) {
					return
				}
			}
			token = resp.GetNextPageToken()
		}
	}
}
