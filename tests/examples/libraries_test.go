package examples

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// standupServices are the two services that the example calls, in so far as it does.
type standupServices struct {
	mu       sync.Mutex
	refusals int      // guarded by mu; calls that are still refused for now
	asked    []string // guarded by mu; the requests to the model, as JSON
	posted   []string // guarded by mu; the texts of messages, by the id that their sender gave
	ids      []string // guarded by mu
}

func (s *standupServices) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if s.refusals > 0 {
		s.refusals--
		http.Error(w, `{"error":{"message":"come back later"}}`, http.StatusServiceUnavailable)
		return
	}
	switch r.URL.Path {
	case "/v1/chat/completions":
		var ask struct {
			Messages []struct{ Content string }
		}
		_ = json.NewDecoder(r.Body).Decode(&ask)
		for _, m := range ask.Messages {
			s.asked = append(s.asked, r.Header.Get("Authorization")+": "+m.Content)
		}
		_, _ = w.Write([]byte(`{"choices":[{"message":{"role":"assistant","content":"all is well"}}]}`))
	case "/slack/chat.postMessage":
		s.posted = append(s.posted, r.FormValue("token")+": "+r.FormValue("channel")+": "+r.FormValue("text"))
		s.ids = append(s.ids, r.FormValue("metadata"))
		_, _ = w.Write([]byte(`{"ok":true,"channel":"C1","ts":"1767225600.000100"}`))
	default:
		http.NotFound(w, r)
	}
}

// TestLibraries: clients of services, a query builder, a mapper of rows, time zones and embedded
// files work in activities as they are, on both stores.
func TestLibraries(t *testing.T) {
	t.Parallel()
	harness.EachSetting(t, func(t *testing.T, below string, store journal.Store) {
		services := &standupServices{refusals: 1}
		server := httptest.NewServer(services)
		t.Cleanup(server.Close)
		e := harness.Engine(t, store)
		harness.Push(t, e, "libraries", "modules/examples/libraries"+below, func(r *host.PushRequest) {
			r.Config = map[string]string{
				"openai_key":  "k1",
				"openai_url":  server.URL + "/v1",
				"slack_token": "k2",
				"slack_url":   server.URL + "/slack/",
			}
			r.AllowHTTP = []string{strings.TrimPrefix(server.URL, "http://")}
		})
		type result struct {
			Summary string `json:"summary"`
			Hours   int    `json:"hours"`
			Posted  string `json:"posted"`
			Before  int64  `json:"before"`
		}
		for i, day := range []string{"2026-03-28", "2026-03-29"} {
			got := harness.Execute[result](t, e, "libraries/Standup", object{
				"channel": "team", "day": day, "zone": "Europe/Berlin", "notes": []string{"nothing broke", "it's fine"},
			})
			require.Equal(
				t, result{Summary: "all is well", Hours: 24 - i, Posted: "1767225600.000100", Before: int64(i)}, got,
			)
		}
		services.mu.Lock()
		defer services.mu.Unlock()
		require.Equal(t, []string{
			"Bearer k1: Summarise the notes of a team in one line.", "Bearer k1: nothing broke\nit's fine",
			"Bearer k1: Summarise the notes of a team in one line.", "Bearer k1: nothing broke\nit's fine",
		}, services.asked)
		require.Equal(t, []string{"k2: team: all is well", "k2: team: all is well"}, services.posted)
		require.NotEqual(t, services.ids[0], services.ids[1])
	})
}
