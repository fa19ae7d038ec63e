package cruster

import (
	"fmt"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Schedule is a schedule that the module declares: it is there while the module is deployed. Make one with
// [NewSchedule].
type Schedule struct {
	name string
}

// Name is the name of the schedule.
func (s Schedule) Name() string { return s.name }

// Ticks say when a schedule starts its workflow: [Cron], [Every] or [Always].
type Ticks struct {
	set func(*abi.ScheduleInfo)
}

// Cron starts the workflow at the times of a cron expression, such as "0 3 * * *" or "@daily"; see [Zone].
func Cron(expression string) Ticks {
	if expression == "" {
		panic("cruster: Cron needs an expression, such as \"0 3 * * *\"")
	}
	return Ticks{func(s *abi.ScheduleInfo) { s.Cron = expression }}
}

// Every starts the workflow at an interval.
func Every(d time.Duration) Ticks {
	checkDuration("Every", d)
	return Ticks{func(s *abi.ScheduleInfo) { s.Every = int64(d) }}
}

// Always starts the workflow whenever the run before has ended: there is one at any time, on one
// host.
func Always() Ticks { return Ticks{func(s *abi.ScheduleInfo) { s.Always = true }} }

// ScheduleOption is an option of [NewSchedule].
type ScheduleOption func(*abi.ScheduleInfo)

// Zone is the time zone of a [Cron], by its IANA name: "Europe/Zurich". Defaults to UTC.
func Zone(name string) ScheduleOption { return func(s *abi.ScheduleInfo) { s.Zone = name } }

// OverlapPolicy is the policy for a tick while a run of the schedule is still running.
type OverlapPolicy string

const (
	// OverlapSkip skips the tick.
	OverlapSkip OverlapPolicy = "skip"
	// OverlapQueue starts one run when the current one has ended.
	OverlapQueue OverlapPolicy = "queue"
	// OverlapCancel asks the run under way to stop, and then starts the next.
	OverlapCancel OverlapPolicy = "cancel"
	// OverlapAllow starts a run beside it.
	OverlapAllow OverlapPolicy = "allow"
)

// Overlap sets the policy for a tick while a run of the schedule is still running. Defaults to
// [OverlapSkip].
func Overlap(p OverlapPolicy) ScheduleOption {
	switch p {
	case OverlapSkip, OverlapQueue, OverlapCancel, OverlapAllow:
	default:
		panic(fmt.Sprintf("cruster: %q is not an overlap policy: use one of the Overlap constants", p))
	}
	return func(s *abi.ScheduleInfo) { s.Overlap = string(p) }
}

// Spread delays each tick by a random time of up to d, so that not all schedules start at the full hour.
func Spread(d time.Duration) ScheduleOption {
	checkDuration("Spread", d)
	return func(s *abi.ScheduleInfo) { s.Jitter = int64(d) }
}

// CatchUp is how old a tick may be when it is started, because no host was there when it was due.
// Defaults to the host's setting.
func CatchUp(d time.Duration) ScheduleOption {
	checkDuration("CatchUp", d)
	return func(s *abi.ScheduleInfo) { s.CatchUp = int64(d) }
}

// NewSchedule declares a schedule that starts a workflow of this module with a request:
//
//	var Nightly = cruster.NewSchedule("nightly", Billing, BillingRequest{}, cruster.Cron("0 3 * * *"), cruster.Zone("Europe/Zurich"))
//
// Call it at package level. The host makes the schedule when the module is deployed, and takes it away with a module
// that does not have it any more.
//
// It panics if the name is invalid or already registered.
func NewSchedule[Req, Res any](
	name string, wf *Workflow[Req, Res], req Req, when Ticks, opts ...ScheduleOption,
) Schedule {
	if when.set == nil {
		panic("cruster: schedule " + name + " needs Cron, Every or Always")
	}
	input, err := encode("the request of schedule ", name, req)
	if err != nil {
		panic("cruster: " + err.Error())
	}
	info := abi.ScheduleInfo{Input: input, Name: name, Workflow: wf.Name()}
	when.set(&info)
	for _, o := range opts {
		o(&info)
	}
	guest.Register(func(r *guest.Registry) { r.AddSchedule(info) })
	return Schedule{name: name}
}
