package schedule

import (
	"strings"
	"time"
	// Time zones are part of the binary: it runs on machines that have none.
	_ "time/tzdata"

	"github.com/robfig/cron/v3"

	"github.com/cruster/cruster/journal"
)

// cronTable has the times of a cron expression in a time zone.
//
// The library that reads the expression is asked about a clock that is never set: the wall clock of the zone, as if
// that were UTC. Which instants these readings are is decided here, where the clock is set forward or back.
//
// An expression with an hour of "*" means "every so often": it has a time whenever the wall clock
// shows one. A skipped hour has none, and a repeated hour has its times twice, so that as much time
// lies between them as on other days.
//
// All others mean "at that time of the day", once a day: a skipped reading is taken at the moment
// at which the clock is set forward, and of a repeated reading the first counts.
type cronTable struct {
	spec  *cron.SpecSchedule
	zone  *time.Location
	often bool // every so often
}

// allHours are the bits of every hour of the day.
const allHours = 1<<24 - 1

var parser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

func parseCron(expression, zone string) (*cronTable, error) {
	location, err := zoneOf(zone)
	if err != nil {
		return nil, err
	}
	// The library takes a zone in front of the expression, and panics if nothing follows.
	if len(expression) > maxExpression || strings.Contains(expression, "=") {
		return nil, badCron(expression, "it is longer than 256 bytes, or has a '='")
	}
	parsed, err := parser.Parse(expression)
	if err != nil {
		return nil, badCron(expression, err.Error())
	}
	spec, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, badCron(expression, "write an interval instead of @every")
	}
	for _, field := range []uint64{spec.Minute, spec.Hour, spec.Dom, spec.Month, spec.Dow} {
		if field == 0 {
			return nil, badCron(expression, "a field names nothing")
		}
	}
	spec.Location = time.UTC
	table := &cronTable{spec: spec, zone: location, often: spec.Hour&allHours == allHours}
	if table.Next(0) == journal.Never {
		return nil, badCron(expression, "no day is like that")
	}
	return table, nil
}

func badCron(expression, why string) error {
	return invalid("%.80q is not a valid cron expression: %.200s", expression, why).
		WithHint(
			"Five fields: minute, hour, day of the month, month, day of the week (0-6 or SUN-SAT), as in '30 4 * " +
				"* MON-FRI'; or @hourly, @daily, @weekly, @monthly, @yearly.",
		)
}

// zoneOf finds a time zone by its IANA name; none is UTC.
func zoneOf(name string) (*time.Location, error) {
	// "Local" would be the zone of whichever machine runs the host.
	if len(name) > maxZone || name == "Local" {
		return nil, badZone(name)
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, badZone(name)
	}
	return location, nil
}

func badZone(name string) error {
	return invalid("%.80q is not a known time zone", name).WithHint(
		"Zones have IANA names, such as Europe/Berlin or UTC.",
	)
}

func (c *cronTable) Next(t int64) int64 {
	if c.often {
		return c.nextOften(time.Unix(0, t).In(c.zone))
	}
	return c.nextDaily(time.Unix(0, t).In(c.zone))
}

// nextOften goes through the stretches of time between two settings of the clock.
func (c *cronTable) nextOften(t time.Time) int64 {
	for {
		offset := offsetOf(t)
		_, end := t.ZoneBounds()
		reading := c.nextReading(t.UTC().Add(offset))
		if reading.IsZero() {
			return journal.Never
		}
		next := reading.Add(-offset)
		if end.IsZero() || next.Before(end) {
			return next.UnixNano()
		}
		// The reading at which the next stretch begins counts, too.
		t = end
		if c.matches(t.UTC().Add(offsetOf(t))) {
			return t.UnixNano()
		}
	}
}

// nextDaily finds the first reading whose instant comes after t. Later readings have later instants, or the same.
func (c *cronTable) nextDaily(t time.Time) int64 {
	for reading := c.nextReading(t.UTC().Add(offsetOf(t))); !reading.IsZero(); reading = c.nextReading(reading) {
		if next := instantOf(reading, c.zone); next.After(t) {
			return next.UnixNano()
		}
	}
	return journal.Never
}

// nextReading is the next reading of the wall clock, as if that were UTC; zero if there is none. The library looks five
// years ahead, and the 29th of February may be eight years away.
func (c *cronTable) nextReading(after time.Time) time.Time {
	next := c.spec.Next(after)
	if next.IsZero() {
		next = c.spec.Next(after.AddDate(4, 0, 0))
	}
	return next
}

func (c *cronTable) matches(reading time.Time) bool {
	return c.spec.Next(reading.Add(-time.Nanosecond)).Equal(reading)
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

// instantOf is the first instant at which the wall clock of a zone shows a reading, or that at which it is set forward
// past it.
func instantOf(reading time.Time, zone *time.Location) time.Time {
	t := time.Date(reading.Year(), reading.Month(), reading.Day(), reading.Hour(), reading.Minute(), 0, 0, zone)
	shown := t.UTC().Add(offsetOf(t))
	start, end := t.ZoneBounds()
	switch {
	case shown.After(reading): // skipped, and t lies behind the setting
		return start
	case shown.Before(reading): // skipped, and t lies before it
		return end
	case start.IsZero():
		return t
	}
	// It may have been shown before the clock was set last.
	before := start.Add(-time.Nanosecond).In(zone)
	if first := reading.Add(-offsetOf(before)).In(zone); first.Before(start) {
		return first
	}
	return t
}
