package egress

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// Each waits for the other two: one after the other they would wait for ever.
func TestAllAreUnderWayAtTheSameTime(t *testing.T) {
	t.Parallel()
	var arrived sync.WaitGroup
	arrived.Add(3)
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		arrived.Done()
		arrived.Wait()
		_, _ = io.WriteString(w, r.URL.Path)
	})
	results := b.client.DoAll(t.Context(), b.policy, []abi.HTTPRequest{
		{URL: b.server.URL + "/one"},
		{URL: "http://other.example.com"},
		{URL: b.server.URL + "/two"},
		{URL: b.server.URL + "/three"},
	})
	require.Len(t, results, 4)
	requireCode(t, abi.CodeHTTPForbidden, results[1].Error)
	require.Nil(t, results[1].Response)
	for i, path := range map[int]string{0: "/one", 2: "/two", 3: "/three"} {
		require.Nil(t, results[i].Error)
		require.Equal(t, path, string(results[i].Response.Body))
	}
	require.Empty(t, b.client.DoAll(t.Context(), b.policy, nil))
}

// A response that fits is there, however much others want at the same time: they are answered only when the
// large one has been given up.
func TestOneThatIsTooLargeTakesNothingFromTheOthers(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	b := setup(t, Config{MaxResponse: 100_000}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			<-gone
			_, _ = io.WriteString(w, strings.Repeat("b", 20_000))
			return
		}
		defer close(gone)
		for {
			if _, err := io.WriteString(w, strings.Repeat("b", 1000)); err != nil {
				return
			}
		}
	})
	reqs := []abi.HTTPRequest{{URL: b.server.URL + "/endless"}}
	for range 4 {
		reqs = append(reqs, abi.HTTPRequest{URL: b.server.URL})
	}
	results := b.client.DoAll(t.Context(), b.policy, reqs)
	requireCode(t, abi.CodeHTTPTooLarge, results[0].Error)
	require.Contains(t, results[0].Error.Message, "together")
	for _, r := range results[1:] {
		require.Nil(t, r.Error)
		require.Len(t, r.Response.Body, 20_000)
	}
}

// The calls of other guests keep no call waiting: it is made by the activity that asks for it.
func TestCallsOfOthersKeepNoneWaiting(t *testing.T) {
	t.Parallel()
	var underWay, most atomic.Int64
	b := setup(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), underWay.Add(1)))
		defer underWay.Add(-1)
		_, _ = io.WriteString(w, r.URL.Path)
	})
	reqs := make([]abi.HTTPRequest, 5)
	for i := range reqs {
		reqs[i].URL = b.server.URL + "/" + strconv.Itoa(i)
	}
	require.True(t, b.client.beside.TryAcquire(maxBeside), "others have all")
	for i, r := range b.client.DoAll(t.Context(), b.policy, reqs) {
		require.Nil(t, r.Error)
		require.Equal(t, "/"+strconv.Itoa(i), string(r.Response.Body))
	}
	require.EqualValues(t, 1, most.Load(), "one after the other")
	b.client.beside.Release(maxBeside)

	b.client.DoAll(t.Context(), b.policy, reqs)
	require.True(t, b.client.beside.TryAcquire(maxBeside), "all is given back")
}

func TestAllShareTheRoomOfOne(t *testing.T) {
	t.Parallel()
	b := setup(t, Config{MaxResponse: 10_000}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Large", strings.Repeat("h", 1000))
		_, _ = io.WriteString(w, strings.Repeat("b", 2000))
	})
	reqs := make([]abi.HTTPRequest, 8)
	for i := range reqs {
		reqs[i].URL = b.server.URL
	}
	room, served := int64(0), 0
	for _, r := range b.client.DoAll(t.Context(), b.policy, reqs) {
		if r.Error != nil {
			requireCode(t, abi.CodeHTTPTooLarge, r.Error)
			continue
		}
		served++
		room += int64(len(r.Response.Body) + 1000)
	}
	require.LessOrEqual(t, room, int64(10_000), "headers count")
	require.Less(t, served, 4)
	require.EqualValues(t, 8, b.hits.Load())
}
