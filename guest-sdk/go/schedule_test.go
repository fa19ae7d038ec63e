package cruster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

var nightly = cruster.NewSchedule("example.nightly", sequence, "apple",
	cruster.Cron("0 3 * * *"), cruster.Zone("Europe/Zurich"), cruster.Overlap(cruster.OverlapQueue),
	cruster.Spread(time.Minute), cruster.CatchUp(time.Hour),
)

var (
	_ = cruster.NewSchedule("example.beat", sequence, "pear", cruster.Every(time.Minute))
	_ = cruster.NewSchedule("example.always", sequence, "pear", cruster.Always())
)

func ExampleNewSchedule() {
	for _, s := range crustertest.Schedules() {
		fmt.Println(s.Name, s.Workflow, s.Cron, s.Zone, time.Duration(s.Every), s.Always)
	}
	// Output:
	// example.always example.sequence   0s true
	// example.beat example.sequence   1m0s false
	// example.nightly example.sequence 0 3 * * * Europe/Zurich 0s false
}

func TestSchedulesAreInTheManifest(t *testing.T) {
	t.Parallel()
	all := crustertest.Schedules()
	i := slices.IndexFunc(all, func(s abi.ScheduleInfo) bool { return s.Name == nightly.Name() })
	require.Equal(t, abi.ScheduleInfo{
		CatchUp:  int64(time.Hour),
		Cron:     "0 3 * * *",
		Input:    abi.MustMarshal("apple"),
		Jitter:   int64(time.Minute),
		Name:     "example.nightly",
		Overlap:  "queue",
		Workflow: "example.sequence",
		Zone:     "Europe/Zurich",
	}, all[i])
	for want, declare := range map[string]func(){
		`cruster: schedule "example.nightly" is registered twice`: func() {
			cruster.NewSchedule("example.nightly", sequence, "", cruster.Always())
		},
		`cruster: schedule x needs Cron, Every or Always`: func() {
			cruster.NewSchedule("x", sequence, "", cruster.Ticks{})
		},
		`cruster: Every(0s) must be above zero`:                  func() { cruster.Every(0) },
		`cruster: Cron needs an expression, such as "0 3 * * *"`: func() { cruster.Cron("") },
		`cruster: "later" is not an overlap policy: use one of the Overlap constants`: func() {
			cruster.Overlap("later")
		},
	} {
		require.PanicsWithValue(t, want, declare)
	}
}
