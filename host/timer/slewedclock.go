package timer

import (
	"sync"
	"time"

	"github.com/jonboulle/clockwork"
)

const (
	// longestStepBack is how far the wall clock may be set back without the host following. Beyond it the time before
	// was wrong, and so would be all that the host derived from it.
	longestStepBack = 15 * time.Minute
	// slew is which part of the time that passes is left out for as long as the host is ahead of the wall clock.
	slew = 64
)

// SlewedClock is the wall clock of a host, for deadlines. If the wall clock is set forward, or the machine was
// suspended, it follows at once: times that have come are due. If the wall clock is set back a little it does not
// follow, but goes on a little slower until the wall clock has caught up: a sleep that began before takes as long as
// it was asked to, and so does a later sleep, whose journal cannot go back.
type SlewedClock struct {
	clockwork.Clock
	// read tells the wall clock, and how much time has passed by a clock that cannot be set.
	read func() (wall int64, passed time.Duration)

	mu     sync.Mutex
	shown  int64         // guarded by mu; the time shown last
	passed time.Duration // guarded by mu; by then
}

// NewSlewedClock makes a slewed clock of a clock.
func NewSlewedClock(clock clockwork.Clock) *SlewedClock {
	start := clock.Now()
	return newSlewedClock(clock, func() (int64, time.Duration) {
		now := clock.Now()
		return now.UnixNano(), now.Sub(start)
	})
}

func newSlewedClock(clock clockwork.Clock, read func() (int64, time.Duration)) *SlewedClock {
	s := &SlewedClock{Clock: clock, read: read}
	s.shown, s.passed = read()
	return s
}

// Now is the time. It does not go back, unless the wall clock was set back far.
func (s *SlewedClock) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, passed := s.read()
	since := max(0, passed-s.passed)
	s.passed = max(s.passed, passed)
	expected := s.shown + int64(since)
	ahead := expected - wall
	switch {
	case ahead <= 0 || ahead > int64(longestStepBack):
		s.shown = wall
	default:
		s.shown = expected - min(ahead, int64(since)/slew)
	}
	return time.Unix(0, s.shown)
}

// Since is how long ago a time was.
func (s *SlewedClock) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Until is how far away a time is.
func (s *SlewedClock) Until(t time.Time) time.Duration { return t.Sub(s.Now()) }
