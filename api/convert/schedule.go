package convert

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

var overlaps = map[crusterv1.Overlap]journal.Overlap{
	crusterv1.Overlap_OVERLAP_UNSPECIFIED: "",
	crusterv1.Overlap_OVERLAP_SKIP:        journal.OverlapSkip,
	crusterv1.Overlap_OVERLAP_QUEUE:       journal.OverlapQueue,
	crusterv1.Overlap_OVERLAP_CANCEL:      journal.OverlapCancel,
	crusterv1.Overlap_OVERLAP_ALLOW:       journal.OverlapAllow,
}

var causes = map[journal.StartCause]crusterv1.StartCause{
	journal.CauseTick:     crusterv1.StartCause_START_CAUSE_TICK,
	journal.CauseTrigger:  crusterv1.StartCause_START_CAUSE_TRIGGER,
	journal.CauseBackfill: crusterv1.StartCause_START_CAUSE_BACKFILL,
}

var outcomes = map[journal.ScheduleOutcome]crusterv1.ScheduleOutcome{
	journal.OutcomeStarted: crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_STARTED,
	journal.OutcomeSkipped: crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_SKIPPED,
	journal.OutcomeMissed:  crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_MISSED,
	journal.OutcomeRefused: crusterv1.ScheduleOutcome_SCHEDULE_OUTCOME_REFUSED,
}

// Overlap reads an overlap policy; an unspecified one is empty.
func Overlap(o crusterv1.Overlap) (journal.Overlap, error) {
	policy, ok := overlaps[o]
	if !ok {
		return "", abi.Errorf(abi.CodeBadRequest, "there is no overlap policy %d", o)
	}
	return policy, nil
}

// Instant reads a time as Unix nanoseconds; an absent one is 0.
func Instant(ts *timestamppb.Timestamp) (int64, error) {
	if ts == nil {
		return 0, nil
	}
	if ts.CheckValid() != nil || ts.GetSeconds() < 0 || ts.GetSeconds() >= math.MaxInt64/int64(time.Second) {
		return 0, abi.Errorf(abi.CodeBadRequest, "a time of %d seconds since 1970 is out of reach", ts.GetSeconds())
	}
	return ts.AsTime().UnixNano(), nil
}

// ScheduleSpec reads the definition of a schedule, without the input.
func ScheduleSpec(p *crusterv1.ScheduleSpec) (spec journal.ScheduleSpec, err error) {
	spec = journal.ScheduleSpec{
		CatchUp:   length(p.GetCatchUp()),
		Jitter:    length(p.GetJitter()),
		MaxQueued: int(p.GetMaxQueued()),
		MaxRuns:   p.GetMaxRuns(),
		Workflow:  p.GetWorkflow(),
		Zone:      p.GetTimeZone(),
	}
	if spec.Overlap, err = Overlap(p.GetOverlap()); err != nil {
		return spec, err
	}
	if spec.NotBefore, err = Instant(p.GetStartTime()); err != nil {
		return spec, err
	}
	if spec.NotAfter, err = Instant(p.GetEndTime()); err != nil {
		return spec, err
	}
	switch times := p.GetTimes().(type) {
	case *crusterv1.ScheduleSpec_Cron:
		spec.Cron = times.Cron
	case *crusterv1.ScheduleSpec_Interval:
		spec.Every, spec.Offset = length(times.Interval.GetEvery()), length(times.Interval.GetOffset())
	case *crusterv1.ScheduleSpec_Always:
		spec.Always = true
		spec.RestartMin, spec.RestartMax = length(times.Always.GetMinPause()), length(times.Always.GetMaxPause())
	}
	return spec, nil
}

// length is a duration in nanoseconds, as much as fits.
func length(d *durationpb.Duration) int64 { return int64(d.AsDuration()) }

// Schedule makes a message of a schedule, with its input in the given form if it has one.
func Schedule(s *host.ScheduleDescription, as crusterv1.Encoding) (*crusterv1.Schedule, error) {
	spec, err := scheduleSpec(&s.Schedule, as)
	if err != nil {
		return nil, err
	}
	st := &s.State
	p := &crusterv1.Schedule{
		Namespace:  s.Namespace,
		Name:       s.Name,
		Spec:       spec,
		Paused:     st.Paused,
		Note:       rpcerror.Text(st.Note),
		CreateTime: unixTimestamp(st.CreatedAt),
		UpdateTime: unixTimestamp(st.UpdatedAt),
		Backfills:  int32(len(st.Backfills)),
		Started:    st.Started,
		Skipped:    st.Skipped,
		Missed:     st.Missed,
		Refused:    st.Refused,
	}
	for _, at := range s.Upcoming {
		p.UpcomingTimes = append(p.UpcomingTimes, unixTimestamp(at))
	}
	for i := range st.Recent {
		p.Recent = append(p.Recent, ScheduleRun(&st.Recent[i]))
	}
	for _, open := range st.Open {
		p.Open = append(p.Open, rpcerror.Text(open.Execution))
	}
	for _, w := range st.Waiting {
		p.Waiting = append(p.Waiting, &crusterv1.WaitingStart{TickTime: unixTimestamp(w.At), Cause: causes[w.Cause]})
	}
	return p, nil
}

func scheduleSpec(s *journal.Schedule, as crusterv1.Encoding) (*crusterv1.ScheduleSpec, error) {
	input, err := EncodePayload(s.Input, as)
	if err != nil {
		return nil, err
	}
	spec := &s.Spec
	p := &crusterv1.ScheduleSpec{
		Workflow:  spec.Workflow,
		Input:     input,
		TimeZone:  spec.Zone,
		Jitter:    wireLength(spec.Jitter),
		MaxQueued: int32(spec.MaxQueued),
		CatchUp:   wireLength(spec.CatchUp),
		StartTime: unixTimestamp(spec.NotBefore),
		EndTime:   unixTimestamp(spec.NotAfter),
		MaxRuns:   spec.MaxRuns,
	}
	for wire, policy := range overlaps {
		if policy == spec.Overlap {
			p.Overlap = wire
		}
	}
	switch {
	case spec.Always:
		p.Times = &crusterv1.ScheduleSpec_Always{
			Always: &crusterv1.Always{MinPause: wireLength(spec.RestartMin), MaxPause: wireLength(spec.RestartMax)},
		}
	case spec.Cron != "":
		p.Times = &crusterv1.ScheduleSpec_Cron{Cron: spec.Cron}
	default:
		p.Times = &crusterv1.ScheduleSpec_Interval{
			Interval: &crusterv1.Interval{Every: wireLength(spec.Every), Offset: wireLength(spec.Offset)},
		}
	}
	return p, nil
}

// wireLength is a length in nanoseconds as a duration; nil for none.
func wireLength(ns int64) *durationpb.Duration {
	if ns == 0 {
		return nil
	}
	return durationpb.New(time.Duration(ns))
}

// ScheduleRun makes a message of the outcome of a start.
func ScheduleRun(run *journal.ScheduleRun) *crusterv1.ScheduleRun {
	return &crusterv1.ScheduleRun{
		TickTime:     unixTimestamp(run.At),
		Cause:        causes[run.Cause],
		Outcome:      outcomes[run.Outcome],
		Execution:    rpcerror.Text(run.Execution),
		State:        states[run.State],
		Error:        rpcerror.Clipped(run.Error),
		DecisionTime: unixTimestamp(run.Done),
		Count:        run.Count,
	}
}
