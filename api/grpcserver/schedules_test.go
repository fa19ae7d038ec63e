package grpcserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// fakeSchedules keeps one schedule, and the requests.
type fakeSchedules struct {
	sched     journal.Schedule
	schedules []host.ScheduleDescription
	request   string
	from      int64
	overlap   journal.Overlap
	err       error
}

func (f *fakeSchedules) Create(_ context.Context, s journal.Schedule) (*journal.Schedule, error) {
	f.sched = s
	return &f.sched, f.err
}

func (f *fakeSchedules) Update(_ context.Context, s journal.Schedule) (*journal.Schedule, error) {
	f.sched.Spec, f.sched.Input = s.Spec, s.Input
	return &f.sched, f.err
}

func (f *fakeSchedules) Describe(_ context.Context, _, name string, upcoming int) (*host.ScheduleDescription, error) {
	if name != f.sched.Name {
		return nil, abi.Errorf(abi.CodeScheduleNotFound, "there is no schedule %s", name)
	}
	return &host.ScheduleDescription{Schedule: f.sched, Upcoming: make([]int64, upcoming)}, nil
}

func (f *fakeSchedules) List(_ context.Context, _, after string, limit int) ([]host.ScheduleDescription, error) {
	var page []host.ScheduleDescription
	for _, s := range f.schedules {
		if s.Name > after && len(page) < limit {
			page = append(page, s)
		}
	}
	return page, nil
}

func (f *fakeSchedules) Pause(_ context.Context, _, _, note string) (*journal.Schedule, error) {
	f.sched.State.Paused, f.sched.State.Note = true, note
	return &f.sched, f.err
}

func (f *fakeSchedules) Resume(_ context.Context, _, _, note string) (*journal.Schedule, error) {
	f.sched.State.Paused, f.sched.State.Note = false, note
	return &f.sched, f.err
}

func (f *fakeSchedules) Trigger(_ context.Context, _, _, request string) (journal.ScheduleRun, error) {
	f.request = request
	return journal.ScheduleRun{
		At: 1, Cause: journal.CauseTrigger, Outcome: journal.OutcomeStarted, Execution: "a/B/c", State: journal.Running,
	}, f.err
}

func (f *fakeSchedules) Backfill(_ context.Context, _, _ string, from, _ int64, overlap journal.Overlap) (int, error) {
	f.from, f.overlap = from, overlap
	return 7, f.err
}

func (f *fakeSchedules) Delete(context.Context, string, string) error { return f.err }

func TestSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := crusterv1.NewScheduleServiceClient(b.conn)
	b.engine.deployment = func(context.Context, string, string) (*host.DeploymentInfo, error) {
		return &host.DeploymentInfo{Manifest: &abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "B"}}}}, nil
	}
	spec := &crusterv1.ScheduleSpec{
		Workflow:  "a/B",
		Input:     &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"n":1}`}},
		Times:     &crusterv1.ScheduleSpec_Cron{Cron: "@daily"},
		TimeZone:  "Europe/Berlin",
		Jitter:    durationpb.New(time.Minute),
		Overlap:   crusterv1.Overlap_OVERLAP_QUEUE,
		MaxQueued: 3,
		CatchUp:   durationpb.New(time.Hour),
		StartTime: timestamppb.New(time.Unix(5, 0)),
		MaxRuns:   9,
	}
	created, err := client.CreateSchedule(t.Context(), &crusterv1.CreateScheduleRequest{
		Name: "nightly", Spec: spec, Paused: true, Note: "later",
	})
	require.NoError(t, err)
	got := b.engine.sched
	require.Equal(t, "default", got.Namespace)
	require.Equal(t, journal.ScheduleSpec{
		CatchUp: int64(time.Hour), Cron: "@daily", Jitter: int64(time.Minute), MaxQueued: 3, MaxRuns: 9, NotBefore: 5e9,
		Overlap: journal.OverlapQueue, Workflow: "a/B", Zone: "Europe/Berlin",
	}, got.Spec)
	require.Equal(t, abi.MustMarshal(map[string]any{"n": 1}), got.Input)
	require.True(t, got.State.Paused)
	require.Equal(t, "later", created.GetSchedule().GetNote())
	require.JSONEq(t, `{"n":1}`, created.GetSchedule().GetSpec().GetInput().GetJson())
	require.Equal(t, crusterv1.Overlap_OVERLAP_QUEUE, created.GetSchedule().GetSpec().GetOverlap())

	spec.Times = &crusterv1.ScheduleSpec_Interval{
		Interval: &crusterv1.Interval{Every: durationpb.New(time.Hour), Offset: durationpb.New(time.Minute)},
	}
	_, err = client.UpdateSchedule(t.Context(), &crusterv1.UpdateScheduleRequest{Name: "nightly", Spec: spec})
	require.NoError(t, err)
	require.Equal(t, int64(time.Hour), b.engine.sched.Spec.Every)
	described, err := client.GetSchedule(t.Context(), &crusterv1.GetScheduleRequest{Name: "nightly"})
	require.NoError(t, err)
	require.Len(t, described.GetSchedule().GetUpcomingTimes(), 5)
	require.Equal(t, time.Minute, described.GetSchedule().GetSpec().GetInterval().GetOffset().AsDuration())

	_, err = client.PauseSchedule(t.Context(), &crusterv1.PauseScheduleRequest{Name: "nightly", Note: "x"})
	require.NoError(t, err)
	require.Equal(t, "x", b.engine.sched.State.Note)
	_, err = client.ResumeSchedule(t.Context(), &crusterv1.ResumeScheduleRequest{Name: "nightly"})
	require.NoError(t, err)
	require.False(t, b.engine.sched.State.Paused)
	run, err := client.TriggerSchedule(t.Context(), &crusterv1.TriggerScheduleRequest{Name: "nightly", RequestId: "r"})
	require.NoError(t, err)
	require.Equal(t, "r", b.engine.request)
	require.Equal(t, crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_STARTED, run.GetRun().GetOutcome())
	_, err = client.TriggerSchedule(t.Context(), &crusterv1.TriggerScheduleRequest{Name: "nightly"})
	require.NoError(t, err)
	require.Len(t, b.engine.request, 32, "one is drawn")
	filled, err := client.BackfillSchedule(t.Context(), &crusterv1.BackfillScheduleRequest{
		Name:      "nightly",
		StartTime: timestamppb.New(time.Unix(3, 0)),
		EndTime:   timestamppb.New(time.Unix(4, 0)),
		Overlap:   crusterv1.Overlap_OVERLAP_ALLOW,
	})
	require.NoError(t, err)
	require.EqualValues(t, 7, filled.GetTicks())
	require.Equal(t, int64(3e9), b.engine.from)
	require.Equal(t, journal.OverlapAllow, b.engine.overlap)
	_, err = client.DeleteSchedule(t.Context(), &crusterv1.DeleteScheduleRequest{Name: "nightly"})
	require.NoError(t, err)
	_, err = client.GetSchedule(t.Context(), &crusterv1.GetScheduleRequest{Name: "weekly"})
	require.Equal(t, codes.NotFound, status.Code(err))
}

// TestHostileSchedules sends requests that no client of ours would.
func TestHostileSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := crusterv1.NewScheduleServiceClient(b.conn)
	b.engine.deployment = func(context.Context, string, string) (*host.DeploymentInfo, error) {
		return &host.DeploymentInfo{}, nil
	}
	refused := func(err error) {
		t.Helper()
		require.Equal(t, codes.InvalidArgument, status.Code(err), "%v", err)
	}
	_, err := client.CreateSchedule(t.Context(), &crusterv1.CreateScheduleRequest{Namespace: "Not/One", Name: "a"})
	refused(err)
	_, err = client.CreateSchedule(t.Context(), &crusterv1.CreateScheduleRequest{
		Name: "a", Spec: &crusterv1.ScheduleSpec{Workflow: "a/B", Overlap: 99},
	})
	refused(err)
	for _, at := range []*timestamppb.Timestamp{{Seconds: 1 << 40}, {Nanos: -1}} {
		_, err = client.CreateSchedule(t.Context(), &crusterv1.CreateScheduleRequest{
			Name: "a", Spec: &crusterv1.ScheduleSpec{Workflow: "a/B", StartTime: at},
		})
		refused(err)
		_, err = client.CreateSchedule(t.Context(), &crusterv1.CreateScheduleRequest{
			Name: "a", Spec: &crusterv1.ScheduleSpec{Workflow: "a/B", EndTime: at},
		})
		refused(err)
	}
	_, err = client.BackfillSchedule(t.Context(), &crusterv1.BackfillScheduleRequest{
		Name: "a", StartTime: &timestamppb.Timestamp{Seconds: -5},
	})
	refused(err)
	_, err = client.BackfillSchedule(t.Context(), &crusterv1.BackfillScheduleRequest{Name: "a", Overlap: -1})
	refused(err)
	_, err = client.ListSchedules(t.Context(), &crusterv1.ListSchedulesRequest{PageSize: 1001})
	refused(err)
	_, err = client.ListSchedules(t.Context(), &crusterv1.ListSchedulesRequest{PageToken: strings.Repeat("a", 1000)})
	refused(err)
	_, err = client.GetSchedule(t.Context(), &crusterv1.GetScheduleRequest{Name: "a", Encoding: 9})
	refused(err)
}

// TestPagesOfSchedules goes through a list whose pages are cut by their number and by their size.
func TestPagesOfSchedules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	client := crusterv1.NewScheduleServiceClient(b.conn)
	var want []string
	for i := range 30 {
		s := host.ScheduleDescription{Schedule: journal.Schedule{Name: "s" + strings.Repeat("x", i)}}
		s.State.Note = strings.Repeat("n", 400<<10)
		b.engine.schedules, want = append(b.engine.schedules, s), append(want, s.Name)
	}
	for _, size := range []int32{0, 4, 30} {
		var got []string
		for token, more := "", true; more; more = token != "" {
			page, err := client.ListSchedules(
				t.Context(), &crusterv1.ListSchedulesRequest{PageSize: size, PageToken: token},
			)
			require.NoError(t, err)
			for _, s := range page.GetSchedules() {
				got = append(got, s.GetName())
			}
			token = page.GetNextPageToken()
		}
		require.Equal(t, want, got)
	}
}
