package schedule

import (
	"cmp"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Bounds of schedules.
const (
	// MaxSchedules is how many a namespace may have.
	MaxSchedules = 10_000
	// MaxBackfill bounds the ticks of one backfill.
	MaxBackfill = 10_000
	// MaxInput bounds the input of the workflow, in bytes: it is in the row, which is written with each tick.
	MaxInput = 64 << 10
	// MaxUpcoming bounds the next times that are worked out for a caller.
	MaxUpcoming = 100

	maxBackfills  = 10
	maxNote       = 1 << 10
	maxOpen       = 100 // runs that are not over
	maxQueued     = 100
	maxRecent     = 20
	maxCatchUp    = 366 * 24 * time.Hour
	maxJitter     = 24 * time.Hour
	maxRestart    = 24 * time.Hour
	minRestart    = 100 * time.Millisecond
	maxWorkflow   = 256
	latestInstant = 1 << 62 // the year 2116: additions to a time do not overflow
)

const (
	defaultCatchUp    = time.Hour
	defaultQueued     = 10
	defaultRestartMin = time.Second
	defaultRestartMax = 5 * time.Minute
)

var (
	validName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,62}$`)
	validRequest = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
)

// CheckName refuses an invalid name of a schedule.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return invalid("%.80q is not a valid name of a schedule", name).
			WithHint("Names are letters, digits, '_', '-' and '.', start with a letter and have at most 63 characters.")
	}
	return nil
}

// checkAnyName is CheckName, also of a schedule that a module declares.
func checkAnyName(name string) error {
	deployment, own, declared := strings.Cut(name, "/")
	if !declared {
		return CheckName(name)
	}
	if err := CheckName(own); err != nil {
		return err
	}
	if deployment == "" || len(name) > abi.MaxName {
		return invalid("%.80q is not a valid name of a schedule", name)
	}
	return nil
}

// checkOwnName is checkAnyName of a schedule that people may change.
func checkOwnName(name string) error {
	if isDeclared(name) {
		deployment, own, _ := strings.Cut(name, "/")
		return invalid("schedule %.80q is declared by the module of deployment %.80q", own, deployment).
			WithHint("Change it in the code of the module, and push that. Declared schedules can be paused, resumed, " +
				"triggered and backfilled.")
	}
	return CheckName(name)
}

func checkNote(note string) error {
	if len(note) > maxNote || !utf8.ValidString(note) {
		return invalid("the note is longer than %d bytes or not UTF-8", maxNote)
	}
	return nil
}

// normalize fills in defaults and refuses invalid specs.
func normalize(spec journal.ScheduleSpec) (journal.ScheduleSpec, error) {
	spec.CatchUp = cmp.Or(spec.CatchUp, int64(defaultCatchUp))
	spec.Overlap = cmp.Or(spec.Overlap, journal.OverlapSkip)
	spec.Zone = cmp.Or(spec.Zone, "UTC")
	if spec.Overlap == journal.OverlapQueue {
		spec.MaxQueued = cmp.Or(spec.MaxQueued, defaultQueued)
	}
	if spec.Always {
		spec.RestartMin = cmp.Or(spec.RestartMin, int64(defaultRestartMin))
		spec.RestartMax = cmp.Or(spec.RestartMax, max(int64(defaultRestartMax), spec.RestartMin))
	}
	if err := checkBounds(&spec); err != nil {
		return spec, err
	}
	if _, err := zoneOf(spec.Zone); err != nil {
		return spec, err
	}
	_, err := timetableOf(&spec)
	return spec, err
}

func checkBounds(spec *journal.ScheduleSpec) error {
	within := func(value int64, least, most time.Duration) bool {
		return value >= int64(least) && value <= int64(most)
	}
	switch {
	case spec.Workflow == "" || len(spec.Workflow) > maxWorkflow:
		return invalid("the schedule names no workflow").WithHint("Workflows are named DEPLOYMENT/WORKFLOW.")
	case !within(spec.CatchUp, time.Second, maxCatchUp):
		return invalid(
			"a catch-up window of %v is not between %v and %v", time.Duration(spec.CatchUp), time.Second, maxCatchUp,
		)
	case !within(spec.Jitter, 0, maxJitter):
		return invalid("a jitter of %v is not between 0 and %v", time.Duration(spec.Jitter), maxJitter)
	case spec.MaxRuns < 0:
		return invalid("a schedule cannot have %d runs", spec.MaxRuns)
	case spec.NotBefore < 0 || spec.NotAfter < 0 || max(spec.NotBefore, spec.NotAfter) > latestInstant ||
		spec.NotAfter > 0 && spec.NotAfter < spec.NotBefore:
		return invalid("the times at which the schedule begins and ends are not in order, or out of reach")
	case spec.Every == 0 && spec.Offset != 0:
		return invalid("an offset belongs to an interval")
	}
	switch spec.Overlap {
	case journal.OverlapSkip, journal.OverlapCancel, journal.OverlapAllow:
		if spec.MaxQueued != 0 {
			return invalid("ticks of a schedule with the policy %s do not queue", spec.Overlap)
		}
	case journal.OverlapQueue:
		if spec.MaxQueued < 1 || spec.MaxQueued > maxQueued {
			return invalid("a queue of %d is not between 1 and %d", spec.MaxQueued, maxQueued)
		}
	default:
		return invalid("there is no overlap policy %.80q", string(spec.Overlap)).WithHint(
			"The policies are skip, queue, cancel and allow.",
		)
	}
	if !spec.Always {
		if spec.RestartMin != 0 || spec.RestartMax != 0 {
			return invalid("a pause before a restart belongs to a schedule that runs always")
		}
		return nil
	}
	return checkAlways(spec)
}

func checkAlways(spec *journal.ScheduleSpec) error {
	switch {
	case spec.Overlap != journal.OverlapSkip || spec.Jitter != 0 || spec.MaxRuns != 0 || spec.NotBefore != 0 ||
		spec.NotAfter != 0:
		return invalid("a schedule that runs always has no ticks: no overlap policy, jitter, limits or bounds of time")
	case spec.RestartMin < int64(minRestart) || spec.RestartMax > int64(maxRestart) ||
		spec.RestartMin > spec.RestartMax:
		return invalid(
			"pauses of %v to %v before a restart are not between %v and %v", time.Duration(spec.RestartMin),
			time.Duration(spec.RestartMax), minRestart, maxRestart,
		)
	}
	return nil
}

func checkInput(input []byte) error {
	if len(input) > MaxInput {
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the input of a schedule has %d bytes, and the limit is %d", len(input), MaxInput,
		).
			WithHint("Have the workflow fetch what it needs; the input of a schedule is the same each time.")
	}
	return nil
}
