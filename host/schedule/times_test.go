package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestTimes shows the times of schedules: which follow a time, and which parts of a spec are
// refused.
func TestTimes(t *testing.T) {
	t.Parallel()
	datadriven.RunTest(t, "testdata/times", func(t *testing.T, d *datadriven.TestData) string {
		spec := journal.ScheduleSpec{Workflow: "a/B", Cron: strings.TrimSpace(d.Input)}
		count := 4
		d.MaybeScanArgs(t, "zone", &spec.Zone)
		d.MaybeScanArgs(t, "n", &count)
		for name, field := range map[string]*int64{
			"every": &spec.Every, "offset": &spec.Offset, "jitter": &spec.Jitter,
		} {
			var text string
			if d.MaybeScanArgs(t, name, &text) {
				length, err := time.ParseDuration(text)
				require.NoError(t, err, d.Pos)
				*field = int64(length)
			}
		}
		for name, field := range map[string]*int64{"not-before": &spec.NotBefore, "not-after": &spec.NotAfter} {
			var text string
			if d.MaybeScanArgs(t, name, &text) {
				*field = at(t, text)
			}
		}
		spec, err := normalize(spec)
		if err != nil {
			return fmt.Sprintf("%v\n", err)
		}
		table, err := timetableOf(&spec)
		require.NoError(t, err)
		var after string
		d.ScanArgs(t, "after", &after)
		zone, err := zoneOf(spec.Zone)
		require.NoError(t, err)
		var out strings.Builder
		next := at(t, after)
		for range count {
			if next = table.Next(next); next == journal.Never {
				fmt.Fprintln(&out, "never")
				break
			}
			fmt.Fprintln(&out, time.Unix(0, next).In(zone).Format("Mon 2006-01-02 15:04:05 -0700"))
		}
		return out.String()
	})
}

func at(t require.TestingT, text string) int64 {
	parsed, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return parsed.UnixNano()
}

// zones are some with all sorts of oddities: half hours, a change at midnight, a day that was skipped.
var zones = []string{
	"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Africa/Cairo",
	"Pacific/Apia", "Asia/Kathmandu", "Africa/Casablanca",
}

var expressions = []string{
	"* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 * * *", "15 1-3 * * *", "0 */2 * * *", "0 12 * * MON", "5 4 29 2 *",
	"59 23 31 12 *", "@daily", "@hourly",
}

// TestTimesAscend holds the times of all expressions against the wall clock of their zone.
func TestTimesAscend(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		expression, name := rapid.SampledFrom(expressions).Draw(
			t, "expression",
		), rapid.SampledFrom(zones).Draw(t, "zone")
		table, err := parseCron(expression, name)
		require.NoError(t, err)
		from := rapid.Int64Range(1_000_000_000, 2_500_000_000).Draw(t, "from") * int64(time.Second)
		before := from
		for range 10 {
			next := table.Next(before)
			require.Greater(t, next, before)
			// From any time between the two the next is the same.
			between := before + rapid.Int64Range(0, next-before-1).Draw(t, "between")
			require.Equal(t, next, table.Next(between))
			shown := time.Unix(0, next).In(table.zone)
			if !table.matches(shown.UTC().Add(offsetOf(shown))) {
				start, _ := shown.ZoneBounds()
				require.False(t, table.often)
				require.Equal(
					t, start.UnixNano(), next,
					"a time that the expression does not name is where the clock was set forward",
				)
			}
			before = next
		}
	})
}

// TestJitter has a tick later by the same each time, and before the next one.
func TestJitter(t *testing.T) {
	t.Parallel()
	s := journal.Schedule{
		Namespace: "default",
		Name:      "a",
		Spec:      journal.ScheduleSpec{Workflow: "a/B", Every: int64(time.Minute), Jitter: int64(time.Hour)},
	}
	table, err := timetableOf(&s.Spec)
	require.NoError(t, err)
	other := s
	other.Name = "b"
	spread := map[int64]bool{}
	differ := 0
	for tick := int64(0); tick < 100*int64(time.Minute); tick += int64(time.Minute) {
		due := dueAt(&s, table, tick)
		require.Equal(t, due, dueAt(&s, table, tick))
		require.GreaterOrEqual(t, due, tick)
		require.Less(t, due, tick+int64(time.Minute))
		spread[(due-tick)/int64(10*time.Second)] = true
		if due != dueAt(&other, table, tick) {
			differ++
		}
	}
	require.Len(t, spread, 6)
	require.Greater(t, differ, 90)
}

// FuzzCron hands the library arbitrary expressions.
func FuzzCron(f *testing.F) {
	hostile := []string{
		"TZ=", "CRON_TZ=UTC * * * * *", "TZ=UTC", ",,,,", ", * * * *", "*/0 * * * *", "*/99999999999 * * * *",
		"0 0 30 2 *", "@every 1s", "@", "*-5 * * * *", "\x00",
	}
	for _, seed := range append(hostile, expressions...) {
		f.Add(seed, "Europe/Berlin")
	}
	f.Fuzz(func(t *testing.T, expression, zone string) {
		table, err := parseCron(expression, zone)
		if err != nil {
			require.Equal(t, abi.CodeBadSchedule, abi.CodeOf(err))
			return
		}
		from := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC).UnixNano()
		for range 5 {
			next := table.Next(from)
			require.Greater(t, next, from)
			if next == journal.Never {
				return
			}
			from = next
		}
	})
}
