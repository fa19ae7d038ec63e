package journal

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Failures of a [ScheduleStore] that are told apart.
var (
	// ErrStale says that the row was changed since it was read. Nothing was written.
	ErrStale = errors.New("journal: the row has changed meanwhile")
	// ErrTooMany says that there are as many rows as there may be. Nothing was written.
	ErrTooMany = errors.New("journal: there are as many as there may be")
)

// ScheduleStore keeps schedules. They are few and written seldom beside executions, so a write is a transaction of its
// own.
type ScheduleStore interface {
	// SaveSchedule writes a schedule, fenced by its shard, if the row that is there has the version before: version 1
	// is a new row, and ErrTooMany if the namespace has most of them already. ErrStale says that it has another
	// version. After an ErrUndecided the same save may be repeated: if the first took effect the second is ErrStale.
	SaveSchedule(ctx context.Context, f Fence, s Schedule, most int) error
	// DeleteSchedule deletes the schedule, fenced by its shard, if it has this version; ErrStale if it has another or
	// is not there.
	DeleteSchedule(ctx context.Context, f Fence, id ID, version int64) error
	// Schedule reads a schedule; ErrNotFound if there is none.
	Schedule(ctx context.Context, id ID) (*Schedule, error)
	// Schedules lists up to limit schedules of a namespace by name, from the first name above after, without their
	// inputs.
	Schedules(ctx context.Context, namespace, after string, limit int) ([]Schedule, error)
	// DueSchedules lists schedules with WakeAt at or before until as Due lists executions.
	DueSchedules(ctx context.Context, until int64, after Wake, limit int) ([]Wake, error)
}

// Schedule starts a workflow at its times. Their definition and their outcomes are host/schedule's
// business; a store knows the name, the version and the time at which its owner has to look.
type Schedule struct {
	Namespace string
	Name      string
	// Version counts the writes, from 1.
	Version int64
	// WakeAt is when the owner must look at the schedule. It may be too early, never too late.
	WakeAt int64
	// Input is the request of the workflow, canonical msgpack.
	Input []byte
	Spec  ScheduleSpec
	State ScheduleState
}

// ID names the schedule in the store. No workflow has this type, so that it is no id of an
// execution.
func (s *Schedule) ID() ID { return ScheduleID(s.Namespace, s.Name) }

// ScheduleID is the id of a schedule.
func ScheduleID(namespace, name string) ID { return IDOf(namespace, "schedule", name) }

// Clone copies the schedule, so that a change of one does not show in the other.
func (s *Schedule) Clone() Schedule {
	c := *s
	c.State.Open = slices.Clone(s.State.Open)
	c.State.Waiting = slices.Clone(s.State.Waiting)
	c.State.Backfills = slices.Clone(s.State.Backfills)
	c.State.Late = slices.Clone(s.State.Late)
	c.State.Recent = slices.Clone(s.State.Recent)
	return c
}

// ScheduleSpec is the definition of a schedule. Times are Unix nanoseconds, lengths
// nanoseconds; a schedule has one of Cron, Every and Always.
type ScheduleSpec struct {
	// Always says that a run begins when the previous one has ended.
	Always bool `msgpack:"always"`
	// CatchUp is how old a tick may be when it is started.
	CatchUp int64 `msgpack:"catch_up"`
	// Cron is a cron expression; its times are in Zone.
	Cron string `msgpack:"cron"`
	// Every is an interval, counted from 1970 on plus Offset.
	Every  int64 `msgpack:"every"`
	Offset int64 `msgpack:"offset"`
	// Jitter bounds by how much a tick is started later.
	Jitter int64 `msgpack:"jitter"`
	// MaxQueued bounds the ticks that wait.
	MaxQueued int `msgpack:"max_queued"`
	// MaxRuns is after how many starts of ticks the schedule ends; 0 says never.
	MaxRuns int64 `msgpack:"max_runs"`
	// NotBefore and NotAfter bound the times of ticks; 0 does not.
	NotBefore int64 `msgpack:"not_before"`
	NotAfter  int64 `msgpack:"not_after"`
	// Overlap is what happens to a tick while an earlier run is not over.
	Overlap Overlap `msgpack:"overlap"`
	// RestartMin and RestartMax bound the pause before the next run of Always.
	RestartMin int64 `msgpack:"restart_min"`
	RestartMax int64 `msgpack:"restart_max"`
	// Workflow is "deployment/Name".
	Workflow string `msgpack:"workflow"`
	// Zone is the IANA name of a time zone.
	Zone string `msgpack:"zone"`
}

// Overlap is what happens to a tick while an earlier run is not over.
type Overlap string

// The policies.
const (
	OverlapSkip   Overlap = "skip"
	OverlapQueue  Overlap = "queue"
	OverlapCancel Overlap = "cancel"
	OverlapAllow  Overlap = "allow"
)

// ScheduleState is how far a schedule is.
type ScheduleState struct {
	// Ahead is the latest time up to which ticks were dealt with while the clock was ahead; 0 if it never
	// was. A tick between Last and Ahead may have a run.
	Ahead int64 `msgpack:"ahead,omitempty"`
	// Backfills are the pending backfill requests.
	Backfills []Backfill `msgpack:"backfills"`
	CreatedAt int64      `msgpack:"created_at"`
	// Failures are the runs of Always that failed one after the other.
	Failures uint32 `msgpack:"failures"`
	// Incarnation tells this schedule from others that had, or will have, the same name.
	Incarnation RunID `msgpack:"incarnation"`
	// Last is a time up to which every tick was dealt with.
	Last int64 `msgpack:"last"`
	// Late are the last moments at which ticks were dealt with long after their time, in order.
	Late []LateTicks `msgpack:"late,omitempty"`
	// Looked is the tick up to Ahead that was found to have no run.
	Looked int64 `msgpack:"looked,omitempty"`
	// Next is when the next run of Always is due; 0 while one is not over.
	Next int64  `msgpack:"next"`
	Note string `msgpack:"note"`
	// Open are the runs that were not over when they were looked at last.
	Open   []OpenRun `msgpack:"open"`
	Paused bool      `msgpack:"paused"`
	// Recent are the last runs, the latest last.
	Recent    []ScheduleRun `msgpack:"recent"`
	UpdatedAt int64         `msgpack:"updated_at"`
	// Waiting are the starts that wait, in order.
	Waiting []WaitingStart `msgpack:"waiting"`

	// Counts of the outcomes of starts; Ticks counts the started ticks.
	Missed  int64 `msgpack:"missed"`
	Refused int64 `msgpack:"refused"`
	Skipped int64 `msgpack:"skipped"`
	Started int64 `msgpack:"started"`
	Ticks   int64 `msgpack:"ticks"`
}

// LateTicks says that the ticks behind After were dealt with at a time that was long after theirs: no
// host ran, or the clock was set forward.
type LateTicks struct {
	After int64 `msgpack:"after"`
	At    int64 `msgpack:"at"`
}

// StartCause is why a schedule starts a run.
type StartCause string

// The causes.
const (
	CauseTick     StartCause = "tick"
	CauseTrigger  StartCause = "trigger"
	CauseBackfill StartCause = "backfill"
)

// WaitingStart is a start that waits for an earlier run to be over.
type WaitingStart struct {
	// At is the nominal time of the tick, or when the trigger was asked for.
	At    int64      `msgpack:"at"`
	Cause StartCause `msgpack:"cause"`
	// Request tells triggers apart.
	Request string `msgpack:"request"`
}

// Backfill is a range of times whose ticks are started. The first that was not dealt with comes after Last.
type Backfill struct {
	Last    int64   `msgpack:"last"`
	To      int64   `msgpack:"to"`
	Overlap Overlap `msgpack:"overlap"`
	// Times are the schedule's times as of the request, if they have changed since; else nil.
	Times *ScheduleSpec `msgpack:"times,omitempty"`
}

// OpenRun is a run that was not over.
type OpenRun struct {
	At int64 `msgpack:"at"`
	// Execution is its name.
	Execution string `msgpack:"execution"`
	// Interrupted says that it was asked to stop.
	Interrupted bool `msgpack:"interrupted"`
}

// ScheduleOutcome is the outcome of a start.
type ScheduleOutcome string

// The outcomes. A refused start has an error, a successful one has a run.
const (
	OutcomeStarted ScheduleOutcome = "started"
	OutcomeSkipped ScheduleOutcome = "skipped"
	OutcomeMissed  ScheduleOutcome = "missed"
	OutcomeRefused ScheduleOutcome = "refused"
)

// ScheduleRun is the outcome of a tick, or of another start.
type ScheduleRun struct {
	// At is the nominal time, Done when it was dealt with.
	At    int64      `msgpack:"at"`
	Cause StartCause `msgpack:"cause"`
	// Count is how many ticks in a row this became of; At is the last of them.
	Count int64      `msgpack:"count"`
	Done  int64      `msgpack:"done"`
	Error *abi.Error `msgpack:"error"`
	// Execution is the name of the run, if it started.
	Execution string          `msgpack:"execution"`
	Outcome   ScheduleOutcome `msgpack:"outcome"`
	// State is the state of the execution at the last look.
	State State `msgpack:"state"`
}

// scheduleBody holds the fields of a schedule that a store keeps as one value.
type scheduleBody struct {
	Spec  ScheduleSpec  `msgpack:"spec"`
	State ScheduleState `msgpack:"state"`
}

// Body encodes the fields that a store keeps as one value: the spec and the state.
func (s *Schedule) Body() []byte { return abi.MustMarshal(scheduleBody{s.Spec, s.State}) }

// SetBody decodes the output of Body.
func (s *Schedule) SetBody(raw []byte) error {
	var b scheduleBody
	if err := abi.Unmarshal(raw, &b); err != nil {
		return errors.Join(ErrCorrupt, err)
	}
	s.Spec, s.State = b.Spec, b.State
	return nil
}
