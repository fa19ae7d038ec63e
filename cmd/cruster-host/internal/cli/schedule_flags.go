package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// specFlags are the flags of create and update: the action and the times of a schedule.
type specFlags struct {
	input                        valueFlags
	cron, zone                   string
	every, offset                time.Duration
	always                       bool
	minPause, maxPause           time.Duration
	overlap, notBefore, notAfter string
	maxQueued                    int32
	jitter, catchUp              time.Duration
	maxRuns                      int64
}

func (f *specFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.input.add(cmd, "input", "the request", notNeeded)
	flags.StringVar(
		&f.cron, "cron", "",
		"when, as a cron expression of five fields, or @hourly, @daily, @weekly, @monthly, @yearly",
	)
	flags.StringVar(
		&f.zone, "zone", "", "time zone of the cron expression, such as Europe/Berlin; UTC if there is none",
	)
	flags.DurationVar(&f.every, "every", 0, "when, as an interval that is counted from 1970 on")
	flags.DurationVar(&f.offset, "offset", 0, "how much later than that")
	flags.BoolVar(&f.always, "always", false, "no times: the next run begins when the one before is over")
	flags.DurationVar(
		&f.minPause, "min-pause", 0, "shortest pause between two runs, for --always; 1s if it is not given",
	)
	flags.DurationVar(&f.maxPause, "max-pause", 0, "longest pause after failures, for --always; 5m if it is not given")
	flags.StringVar(
		&f.overlap, "overlap", "",
		"what happens to a tick while an earlier run is not over: skip, queue, cancel or allow; skip if it is not given",
	)
	flags.Int32Var(
		&f.maxQueued, "max-queued", 0, "how many ticks wait at most, for --overlap queue; 10 if it is not given",
	)
	flags.DurationVar(&f.jitter, "jitter", 0, "by how much a tick is started later at most")
	flags.DurationVar(&f.catchUp, "catch-up", 0, "how old a tick may be when it is started; 1h if it is not given")
	flags.StringVar(&f.notBefore, "not-before", "", "no tick is before this time, such as 2026-01-31T12:00:00Z")
	flags.StringVar(&f.notAfter, "not-after", "", "no tick is after this time")
	flags.Int64Var(&f.maxRuns, "max-runs", 0, "after how many ticks the schedule ends; 0 means never")
}

// apply puts the flags that were given into a spec.
func (a *app) applySpec(f *specFlags, cmd *cobra.Command, spec *crusterv1.ScheduleSpec) error {
	given := cmd.Flags().Changed
	if err := f.applyTimes(given, spec); err != nil {
		return err
	}
	input, err := a.value(cmd, &f.input)
	if err != nil {
		return err
	}
	if input != nil {
		spec.Input = input
	}
	if given("overlap") {
		overlap, err := parseOverlap(f.overlap)
		if err != nil {
			return err
		}
		spec.Overlap, spec.MaxQueued = overlap, 0
	}
	if given("max-queued") {
		spec.MaxQueued = f.maxQueued
	}
	if given("zone") {
		spec.TimeZone = f.zone
	}
	if given("jitter") {
		spec.Jitter = durationpb.New(f.jitter)
	}
	if given("catch-up") {
		spec.CatchUp = durationpb.New(f.catchUp)
	}
	if given("max-runs") {
		spec.MaxRuns = f.maxRuns
	}
	return f.applyBounds(given, spec)
}

func (f *specFlags) applyTimes(given func(string) bool, spec *crusterv1.ScheduleSpec) error {
	kinds := 0
	for _, flag := range []string{"cron", "every", "always"} {
		if given(flag) {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return usage.Errorf("--cron, --every and --always exclude each other")
	case given("cron"):
		spec.Times = &crusterv1.ScheduleSpec_Cron{Cron: f.cron}
	case given("every") || given("offset"):
		spec.Times = &crusterv1.ScheduleSpec_Interval{
			Interval: &crusterv1.Interval{Every: durationpb.New(f.every), Offset: durationpb.New(f.offset)},
		}
	case f.always || given("min-pause") || given("max-pause"):
		spec.Times = &crusterv1.ScheduleSpec_Always{
			Always: &crusterv1.Always{MinPause: durationpb.New(f.minPause), MaxPause: durationpb.New(f.maxPause)},
		}
	}
	return nil
}

func (f *specFlags) applyBounds(given func(string) bool, spec *crusterv1.ScheduleSpec) (err error) {
	if given("not-before") {
		if spec.StartTime, err = parseInstant("not-before", f.notBefore); err != nil {
			return err
		}
	}
	if given("not-after") {
		spec.EndTime, err = parseInstant("not-after", f.notAfter)
	}
	return err
}

// parseInstant reads a time; an empty one is none.
func parseInstant(flag, text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return nil, usage.Errorf("--%s is %q, not a time such as 2026-01-31T12:00:00Z", flag, text)
	}
	return timestamppb.New(t), nil
}

func parseOverlap(text string) (crusterv1.Overlap, error) {
	v, ok := crusterv1.Overlap_value["OVERLAP_"+strings.ToUpper(text)]
	if !ok || v == 0 {
		return 0, usage.Errorf("there is no overlap policy %q: choose skip, queue, cancel or allow", text)
	}
	return crusterv1.Overlap(v), nil
}
