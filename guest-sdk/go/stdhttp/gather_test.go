package stdhttp

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// answering notes how many calls are made together, and answers with the URL.
type answering struct {
	mu     sync.Mutex
	made   []int // guarded by mu
	broken error
	room   int // of the responses together; 0 is no limit
}

func (a *answering) Do(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made = append(a.made, 1)
	return a.answer(r)
}

func (a *answering) answer(r cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	if strings.Contains(r.URL, "refused") {
		return cruster.HTTPResponse{}, abi.Errorf(abi.CodeHTTPForbidden, "%s", r.URL)
	}
	return cruster.HTTPResponse{Status: 200, Body: []byte(r.URL)}, nil
}

func (a *answering) DoAll(all ...cruster.HTTPRequest) ([]cruster.HTTPResult, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made = append(a.made, len(all))
	if a.broken != nil {
		return nil, a.broken
	}
	results := make([]cruster.HTTPResult, len(all))
	for i, r := range all {
		if results[i].Response, results[i].Err = a.answer(r); a.room > 0 && i >= a.room {
			results[i] = cruster.HTTPResult{Err: abi.Errorf(abi.CodeHTTPTooLarge, "together")}
		}
	}
	return results, nil
}

// gatherAll has goroutines want all requests before the first of them is made.
func gatherAll(by caller, requests []cruster.HTTPRequest) []cruster.HTTPResult {
	g := &gatherer{}
	g.yield = func() {
		for { // until all wait
			g.mu.Lock()
			n := len(g.waiting["attempt"])
			g.mu.Unlock()
			if n == len(requests) {
				return
			}
			runtime.Gosched()
		}
	}
	results := make([]cruster.HTTPResult, len(requests))
	var all sync.WaitGroup
	for i, r := range requests {
		all.Go(func() { results[i].Response, results[i].Err = g.do("attempt", by, r) })
	}
	all.Wait()
	return results
}

func requestsTo(urls ...string) (all []cruster.HTTPRequest) {
	for _, url := range urls {
		all = append(all, cruster.HTTPRequest{Method: "GET", URL: url})
	}
	return all
}

func TestGathererMakesCallsTogether(t *testing.T) {
	t.Parallel()
	by := &answering{}
	results := gatherAll(by, requestsTo("a", "refused", "c"))
	require.Equal(t, []int{3}, by.made)
	require.Equal(t, "a", string(results[0].Response.Body))
	require.Equal(t, abi.CodeHTTPForbidden, abi.CodeOf(results[1].Err), "errors are of one request")
	require.Equal(t, "c", string(results[2].Response.Body))
	require.NoError(t, errors.Join(results[0].Err, results[2].Err))
}

func TestGathererMakesOneCallByItself(t *testing.T) {
	t.Parallel()
	by, yields := &answering{}, 0
	g := &gatherer{yield: func() { yields++ }}
	for range 2 {
		res, err := g.do("attempt", by, cruster.HTTPRequest{URL: "a"})
		require.NoError(t, err)
		require.Equal(t, "a", string(res.Body))
	}
	require.Equal(t, []int{1, 1}, by.made)
	require.Equal(t, 2*spareYields, yields)
	require.Empty(t, g.waiting)
}

// Calls go on to be gathered as long as more come, except calls of another attempt.
func TestGathererWaitsForMore(t *testing.T) {
	t.Parallel()
	by, other := &answering{}, &gathered{}
	g, yields := &gatherer{}, 0
	g.add("other", other)
	var later []*gathered
	g.yield = func() {
		if yields++; yields%spareYields == 0 && yields < 4*spareYields {
			one := &gathered{request: cruster.HTTPRequest{URL: "later"}, done: make(chan struct{})}
			later = append(later, one)
			g.add("attempt", one)
		}
	}
	_, err := g.do("attempt", by, cruster.HTTPRequest{URL: "a"})
	require.NoError(t, err)
	require.Equal(t, []int{4}, by.made)
	require.Len(t, later, 3)
	for _, one := range later {
		<-one.done
		require.Equal(t, "later", string(one.result.Response.Body))
	}
	require.Equal(t, map[any][]*gathered{"other": {other}}, g.waiting)
}

func TestGathererKeepsTheLimitsOfTheHost(t *testing.T) {
	t.Parallel()
	by, urls := &answering{}, []string{}
	for i := range abi.MaxHTTPAll + 2 {
		urls = append(urls, fmt.Sprint("http://server/", i))
	}
	results := gatherAll(by, requestsTo(urls...))
	require.Equal(t, []int{abi.MaxHTTPAll, 2}, by.made)
	for i, r := range results {
		require.NoError(t, r.Err)
		require.Equal(t, urls[i], string(r.Response.Body))
	}

	large := requestsTo("a", "b", "c", "d")
	for i := range large {
		large[i].Body = make([]byte, abi.MaxPayload/2-(1<<10))
	}
	large[3].Body = make([]byte, abi.MaxBody)
	by, g := &answering{}, make([]*gathered, len(large))
	for i := range large {
		g[i] = &gathered{request: large[i], done: make(chan struct{})}
	}
	send(by, g)
	require.Equal(t, []int{2, 1, 1}, by.made, "and one that is too large for all is made alone, as it always was")
	packed, err := abi.Marshal(abi.HTTPAll{Requests: abi.HTTPRequests{{Body: large[0].Body}, {Body: large[1].Body}}})
	require.NoError(t, err)
	require.Less(t, len(packed), abi.MaxBody)
}

func TestGathererWhenTheHostRefuses(t *testing.T) {
	t.Parallel()
	refused := abi.Errorf(abi.CodeHTTPInTx, "a transaction is open")
	for _, r := range gatherAll(&answering{broken: refused}, requestsTo("a", "b")) {
		require.ErrorIs(t, r.Err, refused)
	}
}

// Responses that are too large together are fetched one by one.
func TestGathererWhenResponsesAreTooLargeTogether(t *testing.T) {
	t.Parallel()
	by := &answering{room: 1}
	results := gatherAll(by, requestsTo("a", "b"))
	require.Equal(t, []int{2, 1}, by.made)
	for i, want := range []string{"a", "b"} {
		require.NoError(t, results[i].Err)
		require.Equal(t, want, string(results[i].Response.Body))
	}
}

// A call that may change something on the server is made alone: it could not be asked for again.
func TestGathererLeavesOtherCallsAlone(t *testing.T) {
	t.Parallel()
	by, all := &answering{room: 1}, requestsTo("a", "b")
	for i, method := range []string{"POST", "DELETE"} {
		all[i].Method = method
	}
	g := &gatherer{yield: func() { require.Fail(t, "nothing is gathered") }}
	for _, r := range all {
		_, err := g.do("attempt", by, r)
		require.NoError(t, err)
	}
	require.Equal(t, []int{1, 1}, by.made)
}
