package timer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// machine has a wall clock that can be set, and a monotonic clock that cannot.
type machine struct {
	wall   int64
	passed time.Duration
}

func (m *machine) read() (int64, time.Duration) { return m.wall, m.passed }

func (m *machine) pass(d time.Duration) {
	m.wall += int64(d)
	m.passed += d
}

func (m *machine) step(d time.Duration) { m.wall += int64(d) }

func TestSlewedClock(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	m := &machine{wall: begin.UnixNano()}
	s := newSlewedClock(clockwork.NewRealClock(), m.read)
	at := func() time.Duration { return s.Now().Sub(begin) }

	m.pass(time.Minute)
	require.Equal(t, time.Minute, at())
	m.step(2 * time.Minute)
	require.Equal(t, 3*time.Minute, at(), "it follows a step forward")
	m.step(-time.Minute)
	require.Equal(t, 3*time.Minute, at(), "it does not follow a step back")
	m.pass(64 * time.Second)
	require.Equal(t, 3*time.Minute+63*time.Second, at(), "it goes on a little slower")
	for range 100 {
		m.pass(64 * time.Second)
		s.Now()
	}
	require.Equal(t, m.wall, s.Now().UnixNano(), "until the wall clock has caught up")
	m.step(-24 * time.Hour)
	require.Equal(t, m.wall, s.Now().UnixNano(), "the time before was wrong")
	require.Equal(t, time.Hour, s.Since(s.Now().Add(-time.Hour)))
	require.Equal(t, time.Hour, s.Until(s.Now().Add(time.Hour)))
}

// TestSlewedClockProperties sets the wall clock at random by a little: the slewed clock never goes back, is never
// behind the wall clock, and is at most a little slower than a clock that cannot be set.
func TestSlewedClockProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{wall: int64(time.Hour)}
		s := newSlewedClock(clockwork.NewRealClock(), m.read)
		for range rapid.IntRange(1, 50).Draw(t, "n") {
			before := s.Now()
			m.step(time.Duration(rapid.Int64Range(-int64(10*time.Second), int64(time.Minute)).Draw(t, "step")))
			d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "pass"))
			m.pass(d)
			now := s.Now()
			require.GreaterOrEqual(t, now.UnixNano(), m.wall)
			require.GreaterOrEqual(t, now.Sub(before), d-d/slew)
		}
	})
}

// TestSlewedClockOnARealClock shows the time of a clock that is not set.
func TestSlewedClockOnARealClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewSlewedClock(clockwork.NewRealClock())
		for range 10 {
			time.Sleep(time.Hour)
			require.Equal(t, time.Now().UnixNano(), s.Now().UnixNano())
		}
	})
}
