package cli

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

func TestScheduleCommands(t *testing.T) {
	t.Parallel()
	runCommands(t, "testdata/schedule")
}

// fakeSchedules has one schedule, nightly.
type fakeSchedules struct {
	crusterv1.UnimplementedScheduleServiceServer
}

func nightly() *crusterv1.Schedule {
	return &crusterv1.Schedule{
		Namespace: "default", Name: "nightly", Started: 2, Skipped: 3,
		Spec: &crusterv1.ScheduleSpec{
			Workflow:  "shop/Buy",
			Times:     &crusterv1.ScheduleSpec_Cron{Cron: "0 12 * * *"},
			TimeZone:  "Europe/Berlin",
			Overlap:   crusterv1.Overlap_OVERLAP_QUEUE,
			MaxQueued: 10,
			Input:     &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"price":1}`}},
		},
		UpcomingTimes: []*timestamppb.Timestamp{timestamppb.New(noon.Add(24 * time.Hour))},
		Recent: []*crusterv1.ScheduleRun{
			{
				TickTime: timestamppb.New(noon),
				Cause:    crusterv1.StartCause_START_CAUSE_TICK,
				Outcome:  crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_SKIPPED,
				Count:    3,
			},
			{
				TickTime:  timestamppb.New(noon),
				Cause:     crusterv1.StartCause_START_CAUSE_TRIGGER,
				Outcome:   crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_STARTED,
				Count:     1,
				Execution: "shop/Buy/nightly@trigger-r@0123",
				State:     crusterv1.State_STATE_RUNNING,
			},
		},
	}
}

func (fakeSchedules) CreateSchedule(
	_ context.Context, req *crusterv1.CreateScheduleRequest,
) (*crusterv1.CreateScheduleResponse, error) {
	s := nightly()
	s.Name, s.Spec, s.Recent, s.Note, s.Paused = req.GetName(), req.GetSpec(), nil, req.GetNote(), req.GetPaused()
	return &crusterv1.CreateScheduleResponse{Schedule: s}, nil
}

func (fakeSchedules) UpdateSchedule(
	_ context.Context, req *crusterv1.UpdateScheduleRequest,
) (*crusterv1.UpdateScheduleResponse, error) {
	s := nightly()
	s.Spec, s.Recent = req.GetSpec(), nil
	return &crusterv1.UpdateScheduleResponse{Schedule: s}, nil
}

func (fakeSchedules) GetSchedule(
	_ context.Context, req *crusterv1.GetScheduleRequest,
) (*crusterv1.GetScheduleResponse, error) {
	if req.GetName() != "nightly" {
		return nil, rpcerror.Status(
			abi.Errorf(abi.CodeScheduleNotFound, "there is no schedule %s", req.GetName()), 0,
		).Err()
	}
	return &crusterv1.GetScheduleResponse{Schedule: nightly()}, nil
}

func (fakeSchedules) ListSchedules(
	_ context.Context, req *crusterv1.ListSchedulesRequest,
) (*crusterv1.ListSchedulesResponse, error) {
	if req.GetNamespace() == wordyNamespace { // one of them is declared by a module
		declared := nightly()
		declared.Namespace, declared.Name = wordyNamespace, "shop/hourly"
		weekly := nightly()
		weekly.Namespace, weekly.Name = wordyNamespace, "weekly"
		all := []*crusterv1.Schedule{nightly(), declared, weekly}
		return &crusterv1.ListSchedulesResponse{
			Schedules: slices.DeleteFunc(all, func(s *crusterv1.Schedule) bool {
				return s.GetName() <= req.GetPageToken()
			}),
		}, nil
	}
	if req.GetPageToken() == "" {
		return &crusterv1.ListSchedulesResponse{
			Schedules: []*crusterv1.Schedule{nightly()}, NextPageToken: "nightly",
		}, nil
	}
	s := nightly()
	s.Name, s.Paused = "weekly", true
	return &crusterv1.ListSchedulesResponse{Schedules: []*crusterv1.Schedule{s}}, nil
}

func (fakeSchedules) PauseSchedule(
	context.Context, *crusterv1.PauseScheduleRequest,
) (*crusterv1.PauseScheduleResponse, error) {
	return &crusterv1.PauseScheduleResponse{}, nil
}

func (fakeSchedules) ResumeSchedule(
	context.Context, *crusterv1.ResumeScheduleRequest,
) (*crusterv1.ResumeScheduleResponse, error) {
	return &crusterv1.ResumeScheduleResponse{}, nil
}

func (fakeSchedules) TriggerSchedule(
	context.Context, *crusterv1.TriggerScheduleRequest,
) (*crusterv1.TriggerScheduleResponse, error) {
	return &crusterv1.TriggerScheduleResponse{Run: nightly().GetRecent()[1]}, nil
}

func (fakeSchedules) BackfillSchedule(
	context.Context, *crusterv1.BackfillScheduleRequest,
) (*crusterv1.BackfillScheduleResponse, error) {
	return &crusterv1.BackfillScheduleResponse{Ticks: 31}, nil
}

func (fakeSchedules) DeleteSchedule(
	context.Context, *crusterv1.DeleteScheduleRequest,
) (*crusterv1.DeleteScheduleResponse, error) {
	return &crusterv1.DeleteScheduleResponse{}, nil
}
