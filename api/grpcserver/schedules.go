package grpcserver

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/convert"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/journal"
)

// defaultUpcoming is how many next times of a schedule are shown.
const defaultUpcoming = 5

type scheduleService struct {
	crusterv1.UnimplementedScheduleServiceServer
	engine *Engine
	// starts knows the types of requests.
	starts *workflowService
}

var _ crusterv1.ScheduleServiceServer = (*scheduleService)(nil)

// A specRequest says something about a schedule.
type specRequest interface {
	GetNamespace() string
	GetName() string
	GetSpec() *crusterv1.ScheduleSpec
}

// read makes a schedule of its definition. Its input is decoded by the type of its workflow.
func (s *scheduleService) read(ctx context.Context, req specRequest) (sched journal.Schedule, err error) {
	sched.Name = req.GetName()
	if sched.Namespace, err = convert.Namespace(req.GetNamespace()); err != nil {
		return sched, err
	}
	if sched.Spec, err = convert.ScheduleSpec(req.GetSpec()); err != nil {
		return sched, err
	}
	start := &crusterv1.StartOptions{Workflow: req.GetSpec().GetWorkflow(), Input: req.GetSpec().GetInput()}
	sched.Input, err = s.starts.decodeInput(ctx, sched.Namespace, start)
	return sched, explainMisfit(start, err)
}

// shown answers with a schedule as it is now.
func (s *scheduleService) shown(
	ctx context.Context, namespace, name string, upcoming int, as crusterv1.Encoding,
) (*crusterv1.Schedule, error) {
	d, err := s.engine.Schedules.Describe(ctx, namespace, name, upcoming)
	if err != nil {
		return nil, err
	}
	return convert.Schedule(d, as)
}

func (s *scheduleService) CreateSchedule(
	ctx context.Context, req *crusterv1.CreateScheduleRequest,
) (*crusterv1.CreateScheduleResponse, error) {
	sched, err := s.read(ctx, req)
	if err != nil {
		return nil, err
	}
	sched.State.Paused, sched.State.Note = req.GetPaused(), req.GetNote()
	if _, err := s.engine.Schedules.Create(ctx, sched); err != nil {
		return nil, explainMisfit(
			&crusterv1.StartOptions{Workflow: sched.Spec.Workflow, Input: req.GetSpec().GetInput()}, err,
		)
	}
	p, err := s.shown(ctx, sched.Namespace, sched.Name, 1, crusterv1.Encoding_ENCODING_JSON)
	return &crusterv1.CreateScheduleResponse{Schedule: p}, err
}

func (s *scheduleService) UpdateSchedule(
	ctx context.Context, req *crusterv1.UpdateScheduleRequest,
) (*crusterv1.UpdateScheduleResponse, error) {
	sched, err := s.read(ctx, req)
	if err != nil {
		return nil, err
	}
	if _, err := s.engine.Schedules.Update(ctx, sched); err != nil {
		return nil, explainMisfit(
			&crusterv1.StartOptions{Workflow: sched.Spec.Workflow, Input: req.GetSpec().GetInput()}, err,
		)
	}
	p, err := s.shown(ctx, sched.Namespace, sched.Name, 1, crusterv1.Encoding_ENCODING_JSON)
	return &crusterv1.UpdateScheduleResponse{Schedule: p}, err
}

func (s *scheduleService) GetSchedule(
	ctx context.Context, req *crusterv1.GetScheduleRequest,
) (*crusterv1.GetScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	as, err := convert.AnswerEncoding(req.GetEncoding(), nil)
	if err != nil {
		return nil, err
	}
	upcoming := int(req.GetUpcoming())
	if upcoming == 0 {
		upcoming = defaultUpcoming
	}
	p, err := s.shown(ctx, ns, req.GetName(), upcoming, as)
	if err != nil {
		return nil, err
	}
	return &crusterv1.GetScheduleResponse{Schedule: p}, nil
}

func (s *scheduleService) ListSchedules(
	ctx context.Context, req *crusterv1.ListSchedulesRequest,
) (*crusterv1.ListSchedulesResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	size, err := pageSize(req.GetPageSize())
	if err != nil {
		return nil, err
	}
	if len(req.GetPageToken()) > abi.MaxName {
		return nil, abi.Errorf(abi.CodeBadRequest, "%.80q is not the cursor of a page", req.GetPageToken())
	}
	page, err := s.engine.Schedules.List(ctx, ns, req.GetPageToken(), size)
	if err != nil {
		return nil, err
	}
	resp := &crusterv1.ListSchedulesResponse{}
	room := journal.PageLimit{Entries: size, Bytes: maxMessage}.Room()
	for i := range page {
		p, err := convert.Schedule(&page[i], crusterv1.Encoding_ENCODING_MSGPACK)
		if err != nil {
			return nil, err
		}
		if !room.Take(sizeInList(p)) {
			resp.NextPageToken = page[i-1].Name
			return resp, nil
		}
		resp.Schedules = append(resp.Schedules, p)
	}
	if len(page) == size {
		resp.NextPageToken = page[size-1].Name
	}
	return resp, nil
}

func (s *scheduleService) PauseSchedule(
	ctx context.Context, req *crusterv1.PauseScheduleRequest,
) (*crusterv1.PauseScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	_, err = s.engine.Schedules.Pause(ctx, ns, req.GetName(), req.GetNote())
	return &crusterv1.PauseScheduleResponse{}, err
}

func (s *scheduleService) ResumeSchedule(
	ctx context.Context, req *crusterv1.ResumeScheduleRequest,
) (*crusterv1.ResumeScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	_, err = s.engine.Schedules.Resume(ctx, ns, req.GetName(), req.GetNote())
	return &crusterv1.ResumeScheduleResponse{}, err
}

func (s *scheduleService) TriggerSchedule(
	ctx context.Context, req *crusterv1.TriggerScheduleRequest,
) (*crusterv1.TriggerScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	request := req.GetRequestId()
	if request == "" {
		request = journal.NewRunID().String()
	}
	run, err := s.engine.Schedules.Trigger(ctx, ns, req.GetName(), request)
	if err != nil {
		return nil, err
	}
	return &crusterv1.TriggerScheduleResponse{Run: convert.ScheduleRun(&run)}, nil
}

func (s *scheduleService) BackfillSchedule(
	ctx context.Context, req *crusterv1.BackfillScheduleRequest,
) (*crusterv1.BackfillScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	from, err := convert.Instant(req.GetStartTime())
	if err != nil {
		return nil, err
	}
	to, err := convert.Instant(req.GetEndTime())
	if err != nil {
		return nil, err
	}
	overlap, err := convert.Overlap(req.GetOverlap())
	if err != nil {
		return nil, err
	}
	ticks, err := s.engine.Schedules.Backfill(ctx, ns, req.GetName(), from, to, overlap)
	return &crusterv1.BackfillScheduleResponse{Ticks: int32(ticks)}, err
}

func (s *scheduleService) DeleteSchedule(
	ctx context.Context, req *crusterv1.DeleteScheduleRequest,
) (*crusterv1.DeleteScheduleResponse, error) {
	ns, err := convert.Namespace(req.GetNamespace())
	if err != nil {
		return nil, err
	}
	return &crusterv1.DeleteScheduleResponse{}, s.engine.Schedules.Delete(ctx, ns, req.GetName())
}
