package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Bounds of the times in a definition.
const (
	maxExpression = 256
	maxZone       = 64
	minInterval   = time.Second
	maxInterval   = 366 * 24 * time.Hour
)

// A Timetable yields the times of a schedule. They are Unix nanoseconds.
type Timetable interface {
	// Next is the first time after t; journal.Never if there is none.
	Next(t int64) int64
}

// timetableOf reads the times that a spec names. It is nil for a schedule that has none.
func timetableOf(spec *journal.ScheduleSpec) (Timetable, error) {
	var table Timetable
	var err error
	switch {
	case spec.Always && (spec.Cron != "" || spec.Every != 0), spec.Cron != "" && spec.Every != 0:
		return nil, invalid("a schedule has a cron expression, an interval, or runs always: one of them")
	case spec.Always:
		return nil, nil
	case spec.Cron != "":
		table, err = parseCron(spec.Cron, spec.Zone)
	case spec.Every != 0:
		table, err = intervalOf(spec.Every, spec.Offset)
	default:
		return nil, invalid("the schedule has no times").WithHint(
			"Give it a cron expression or an interval, or have it run always.",
		)
	}
	if err != nil {
		return nil, err
	}
	return bounded{table, spec.NotBefore, spec.NotAfter}, nil
}

// bounded leaves out times before or after a bound.
type bounded struct {
	Timetable
	notBefore, notAfter int64 // 0: no bound
}

func (b bounded) Next(t int64) int64 {
	if b.notBefore > 0 {
		t = max(t, b.notBefore-1)
	}
	next := b.Timetable.Next(t)
	if b.notAfter > 0 && next > b.notAfter {
		return journal.Never
	}
	return next
}

// interval has a time every so often, counted from 1970 on.
type interval struct{ every, offset int64 }

func intervalOf(every, offset int64) (interval, error) {
	if every < int64(minInterval) || every > int64(maxInterval) {
		return interval{}, invalid(
			"an interval of %v is not between %v and %v", time.Duration(every), minInterval, maxInterval,
		)
	}
	if offset < 0 || offset >= every {
		return interval{}, invalid(
			"an offset of %v is not within the interval of %v", time.Duration(offset), time.Duration(every),
		)
	}
	return interval{every, offset}, nil
}

func (i interval) Next(t int64) int64 {
	n := (t - i.offset) / i.every
	if (t-i.offset)%i.every < 0 {
		n-- // division rounds to zero, not down
	}
	next := (n+1)*i.every + i.offset
	if next <= t { // beyond the end of time
		return journal.Never
	}
	return next
}

// dueAt is when the tick of a time is started: later by its jitter, which is the same each time it is worked out, and
// before the next tick.
func dueAt(s *journal.Schedule, table Timetable, tick int64) int64 {
	room := s.Spec.Jitter
	if next := table.Next(tick); next != journal.Never {
		room = min(room, next-tick)
	}
	if room <= 0 {
		return tick
	}
	h := sha256.New()
	id := s.ID()
	h.Write([]byte("cruster jitter"))
	h.Write(id[:])
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(tick)))
	return tick + int64(binary.BigEndian.Uint64(h.Sum(nil))%uint64(room))
}

func invalid(format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeBadSchedule, format, args...)
}
