package client_test

import (
	"context"
	"net"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// scheduleHost records its requests.
type scheduleHost struct {
	crusterv1.UnimplementedScheduleServiceServer
	created   *crusterv1.CreateScheduleRequest
	updated   *crusterv1.UpdateScheduleRequest
	triggered []string
	done      []string
}

func (h *scheduleHost) CreateSchedule(
	_ context.Context, req *crusterv1.CreateScheduleRequest,
) (*crusterv1.CreateScheduleResponse, error) {
	h.created = req
	return &crusterv1.CreateScheduleResponse{}, nil
}

func (h *scheduleHost) UpdateSchedule(
	_ context.Context, req *crusterv1.UpdateScheduleRequest,
) (*crusterv1.UpdateScheduleResponse, error) {
	h.updated = req
	return &crusterv1.UpdateScheduleResponse{}, nil
}

func (h *scheduleHost) GetSchedule(
	_ context.Context, req *crusterv1.GetScheduleRequest,
) (*crusterv1.GetScheduleResponse, error) {
	return &crusterv1.GetScheduleResponse{Schedule: &crusterv1.Schedule{Name: req.GetName()}}, nil
}

func (h *scheduleHost) ListSchedules(
	_ context.Context, req *crusterv1.ListSchedulesRequest,
) (*crusterv1.ListSchedulesResponse, error) {
	if req.GetPageToken() == "" {
		return &crusterv1.ListSchedulesResponse{
			Schedules: []*crusterv1.Schedule{{Name: "a"}, {Name: "b"}}, NextPageToken: "b",
		}, nil
	}
	return &crusterv1.ListSchedulesResponse{Schedules: []*crusterv1.Schedule{{Name: "c"}}}, nil
}

func (h *scheduleHost) PauseSchedule(
	_ context.Context, req *crusterv1.PauseScheduleRequest,
) (*crusterv1.PauseScheduleResponse, error) {
	h.done = append(h.done, "pause "+req.GetName()+" "+req.GetNote())
	return &crusterv1.PauseScheduleResponse{}, nil
}

func (h *scheduleHost) ResumeSchedule(
	_ context.Context, req *crusterv1.ResumeScheduleRequest,
) (*crusterv1.ResumeScheduleResponse, error) {
	h.done = append(h.done, "resume "+req.GetName())
	return &crusterv1.ResumeScheduleResponse{}, nil
}

func (h *scheduleHost) TriggerSchedule(
	_ context.Context, req *crusterv1.TriggerScheduleRequest,
) (*crusterv1.TriggerScheduleResponse, error) {
	h.triggered = append(h.triggered, req.GetRequestId())
	return &crusterv1.TriggerScheduleResponse{Run: &crusterv1.ScheduleRun{Execution: "a/B/c"}}, nil
}

func (h *scheduleHost) BackfillSchedule(
	context.Context, *crusterv1.BackfillScheduleRequest,
) (*crusterv1.BackfillScheduleResponse, error) {
	return &crusterv1.BackfillScheduleResponse{Ticks: 3}, nil
}

func (h *scheduleHost) DeleteSchedule(
	_ context.Context, req *crusterv1.DeleteScheduleRequest,
) (*crusterv1.DeleteScheduleResponse, error) {
	h.done = append(h.done, "delete "+req.GetName())
	return &crusterv1.DeleteScheduleResponse{}, nil
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	host := &scheduleHost{}
	c := dialSchedules(t, host)
	ctx := t.Context()

	report := client.Workflow[map[string]int, string](c, "reports/Nightly")
	s, err := report.Schedule(ctx, "nightly", map[string]int{"n": 1}, client.Cron("30 4 * * *", "Europe/Berlin"),
		client.ScheduleOptions{
			Jitter: time.Minute, Overlap: crusterv1.Overlap_OVERLAP_QUEUE, NotAfter: time.Unix(9, 0),
		})
	require.NoError(t, err)
	require.Equal(t, "nightly", s.Name())
	spec := host.created.GetSpec()
	require.Equal(t, "team", host.created.GetNamespace())
	require.Equal(t, "reports/Nightly", spec.GetWorkflow())
	require.Equal(t, abi.MustMarshal(map[string]int{"n": 1}), spec.GetInput().GetMsgpack())
	require.Equal(t, "30 4 * * *", spec.GetCron())
	require.Equal(t, "Europe/Berlin", spec.GetTimeZone())
	require.Equal(t, time.Minute, spec.GetJitter().AsDuration())
	require.EqualValues(t, 9, spec.GetEndTime().GetSeconds())
	require.Nil(t, spec.GetStartTime())

	require.NoError(
		t, report.Reschedule(ctx, "nightly", nil, client.Every(time.Hour, time.Minute), client.ScheduleOptions{}),
	)
	require.Equal(t, time.Minute, host.updated.GetSpec().GetInterval().GetOffset().AsDuration())
	require.NoError(t, report.Reschedule(ctx, "nightly", nil, client.Always(time.Second, 0), client.ScheduleOptions{}))
	require.Equal(t, time.Second, host.updated.GetSpec().GetAlways().GetMinPause().AsDuration())

	described, err := s.Describe(ctx)
	require.NoError(t, err)
	require.Equal(t, "nightly", described.GetName())
	for range 2 {
		run, err := s.Trigger(ctx)
		require.NoError(t, err)
		require.Equal(t, "a/B/c", run.GetExecution())
	}
	require.NotEqual(t, host.triggered[0], host.triggered[1], "each call is a request of its own")
	ticks, err := s.Backfill(ctx, time.Unix(1, 0), time.Unix(2, 0), crusterv1.Overlap_OVERLAP_UNSPECIFIED)
	require.NoError(t, err)
	require.Equal(t, 3, ticks)
	require.NoError(t, s.Pause(ctx, "why"))
	require.NoError(t, s.Resume(ctx, ""))
	require.NoError(t, s.Delete(ctx))
	require.Equal(t, []string{"pause nightly why", "resume nightly", "delete nightly"}, host.done)
	var names []string
	for s, err := range c.AllSchedules(ctx) {
		require.NoError(t, err)
		names = append(names, s.GetName())
	}
	require.Equal(t, []string{"a", "b", "c"}, names)
}

// dialSchedules connects a client with a host of schedules.
func dialSchedules(t *testing.T, host *scheduleHost, options ...grpc.ServerOption) *client.Client {
	t.Helper()
	server, listener := grpc.NewServer(options...), bufconn.Listen(1<<20)
	crusterv1.RegisterScheduleServiceServer(server, host)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	c, err := client.Dial("passthrough:///test", client.WithNamespace("team"), client.WithDialOptions(
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		})))
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		server.Stop()
		require.NoError(t, <-served)
	})
	return c
}

// A call of a schedule whose answer was lost is made again if that changes nothing more.
func TestScheduleCallsAreRepeated(t *testing.T) {
	t.Parallel()
	host, calls := &scheduleHost{}, map[string]int{}
	var mu sync.Mutex
	c := dialSchedules(t, host, grpc.UnaryInterceptor(func(
		ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
	) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		resp, err := handle(ctx, req)
		calls[path.Base(info.FullMethod)]++
		if calls[path.Base(info.FullMethod)] == 1 {
			return nil, status.Error(codes.Unavailable, "the answer is lost")
		}
		return resp, err
	}))
	ctx, s := t.Context(), c.Schedule("nightly")
	report := client.Workflow[map[string]int, string](c, "reports/Nightly")
	_, err := s.Describe(ctx)
	require.NoError(t, err)
	require.NoError(t, report.Reschedule(ctx, "nightly", nil, client.Always(time.Second, 0), client.ScheduleOptions{}))
	require.NoError(t, s.Pause(ctx, "why"))
	require.NoError(t, s.Resume(ctx, ""))
	_, err = s.Trigger(ctx)
	require.NoError(t, err)
	require.Len(t, host.triggered, 2)
	require.Equal(t, host.triggered[0], host.triggered[1], "it is one request")
	for _, err := range c.AllSchedules(ctx) {
		require.NoError(t, err)
	}
	_, err = report.Schedule(ctx, "weekly", nil, client.Always(time.Second, 0), client.ScheduleOptions{})
	require.Error(t, err)
	_, err = s.Backfill(ctx, time.Unix(1, 0), time.Unix(2, 0), crusterv1.Overlap_OVERLAP_UNSPECIFIED)
	require.Error(t, err)
	require.Error(t, s.Delete(ctx))
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 1, calls["CreateSchedule"])
	require.Equal(t, 1, calls["BackfillSchedule"])
	require.Equal(t, 1, calls["DeleteSchedule"])
}
