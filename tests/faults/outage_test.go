package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/undertest"
	"github.com/cruster/cruster/journal"
)

// outage is how long the store is away, and how: commits are refused, or left in doubt without effect, or nothing of
// the store works.
const outage = 3 * time.Second

// TestOutcomeInHandIsKept lets the store go away when a server has been called, and come back some time later. The
// server is not called again: its reply is kept until it can be committed.
func TestOutcomeInHandIsKept(t *testing.T) {
	t.Parallel()
	for _, evict := range []bool{false, true} {
		for how, away := range map[string]func(call string) mode{
			"refused": func(call string) mode { return only(call, refused, "commit", "guest") },
			"lost":    func(call string) mode { return only(call, lost, "commit", "guest") },
			"gone":    func(string) mode { return refused },
		} {
			t.Run(fmt.Sprintf("%s/evict=%v", how, evict), func(t *testing.T) {
				t.Parallel()
				store := &failing{Store: harness.Store(t, "sqlite")}
				var calls, back atomic.Int64
				server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					if calls.Add(1) == 1 {
						back.Store(time.Now().Add(outage).UnixNano())
						store.fail(func(call string) mode {
							if time.Now().UnixNano() > back.Load() {
								return healthy
							}
							return away(call)
						})
					}
				}))
				t.Cleanup(server.Close)
				e := engine(t, store, func(c *host.Config) { undertest.Of(&c.UnderTest).EvictAlways = evict })
				harness.Push(t, e, "conformance", "tests/guests/conformance", func(r *host.PushRequest) {
					r.AllowHTTP = []string{strings.TrimPrefix(server.URL, "http://")}
				})
				name := harness.Start(t, e, "conformance/Fetch", server.URL)
				// A caller that comes while the store is away gets its error.
				harness.Eventually(t, "the store is back", func() bool {
					at := back.Load()
					return at > 0 && time.Now().UnixNano() > at
				})
				row := harness.Wait(t, e, name)
				require.Equal(t, journal.Completed, row.State, "%v", row.Error)
				require.Greater(t, time.Now().UnixNano(), back.Load())
				require.EqualValues(t, 1, calls.Load())
			})
		}
	}
}

// only fails some calls.
func only(call string, m mode, calls ...string) mode {
	for _, c := range calls {
		if c == call {
			return m
		}
	}
	return healthy
}
