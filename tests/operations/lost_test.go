package ops_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// TestHostKilledDuringAnAttempt kills a real host three times during the same attempt of an activity. The fourth host
// does not run it again: it pauses the execution and says why. After a resume the attempt runs, and the execution
// completes.
func TestHostKilledDuringAnAttempt(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) place{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			called, answer := make(chan string), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				called <- r.Header.Get("X-Key")
				select {
				case <-answer:
				case <-r.Context().Done():
				}
			}))
			t.Cleanup(server.Close)
			p := on(t).host(t)
			_, err := dial(t, p).Push(t.Context(), client.PushRequest{
				Name:      "conformance",
				Binary:    harness.Module(t, "tests/guests/conformance"),
				AllowHTTP: []string{strings.TrimPrefix(server.URL, "http://")},
			})
			require.NoError(t, err)
			h, err := client.Workflow[string, object](dial(t, p), "conformance/Fetch").Start(t.Context(), server.URL)
			require.NoError(t, err)
			keys := map[string]bool{}
			for range 3 {
				keys[<-called] = true
				p.Kill()
				p.Start()
			}
			require.Len(t, keys, 1, "every attempt has the same key")
			c := dial(t, p)
			_, err = client.Attach[object](c, h.Execution()).Wait(t.Context())
			require.ErrorContains(t, err, "CR-2022")
			require.EqualValues(t, 3, calls.Load())
			require.NoError(t, client.Attach[object](c, h.Execution()).Resume(t.Context()))
			<-called
			close(answer)
			_, err = client.Attach[object](c, h.Execution()).Wait(t.Context())
			require.NoError(t, err)
		})
	}
}
