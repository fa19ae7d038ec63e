package grpcserver

import (
	"bytes"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
)

// sized is memory for so many connections.
type sized struct {
	unlimited
	*budget.Budget
}

func (s sized) AdmitConnection() (release func(), ok bool) {
	permit, ok := s.TryAcquire(1)
	return permit.Release, ok
}

// TestOperatorsFindAPlace: when clients have all places, or all memory for connections, a few connections from the
// host's own machine are accepted all the same. The others are refused, and that is logged once a minute.
func TestOperatorsFindAPlace(t *testing.T) {
	t.Parallel()
	for name, memory := range map[string]RequestMemory{"places": unlimited{}, "memory": sized{Budget: budget.New(2)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			clock := clockwork.NewFakeClock()
			cfg := Config{Clock: clock, Logger: slog.New(slog.NewTextHandler(&log, nil)), MaxConnections: 2}
			if name == "memory" {
				cfg.MaxConnections = 100
			}
			c := newConnections(&cfg)
			client, operator := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
			var leave []func()
			enter := func(from net.Addr) bool {
				left, ok := c.enter(from, memory)
				if ok {
					leave = append(leave, left)
				}
				return ok
			}
			require.True(t, enter(client))
			require.True(t, enter(client))
			require.False(t, enter(client))
			for range localPlaces {
				require.True(t, enter(operator))
			}
			require.False(t, enter(operator))
			require.False(t, enter(client))
			require.Equal(t, 2+localPlaces, c.count())
			require.Equal(t, 1, strings.Count(log.String(), "connections are refused"))
			clock.Advance(warnEvery)
			require.False(t, enter(client))
			require.Contains(t, log.String(), "refused=3")
			clock.Advance(time.Second)
			require.False(t, enter(client))
			require.Equal(t, 2, strings.Count(log.String(), "connections are refused"))

			for _, left := range leave {
				left()
			}
			require.Zero(t, c.count())
			require.True(t, enter(client))
		})
	}
}
