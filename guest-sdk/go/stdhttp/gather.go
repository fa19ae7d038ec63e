package stdhttp

import (
	"net/http"
	"slices"
	"sync"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
)

// caller makes calls for an attempt.
type caller interface {
	Do(r cruster.HTTPRequest) (cruster.HTTPResponse, error)
	DoAll(requests ...cruster.HTTPRequest) ([]cruster.HTTPResult, error)
}

// A gatherer makes the calls of several goroutines at the same time. A module has one thread, and a call of the host
// stops it: goroutines that each made a call of their own would wait for one another. So the first that wants one lets
// the others run, as long as that brings further calls, and then makes all of them.
//
// Only calls that read are gathered. The responses share the room that each has to itself alone,
// and a call whose response does not fit is repeated, which must not happen to a call that changes
// something.
//
// A gathered batch belongs to one attempt: another attempt may leave goroutines that never run
// again.
type gatherer struct {
	yield func() // lets other goroutines run

	mu      sync.Mutex
	waiting map[any][]*gathered // guarded by mu, by attempt
}

type gathered struct {
	request cruster.HTTPRequest
	result  cruster.HTTPResult
	done    chan struct{}
}

// spareYields is how often others run without a further call before the calls are made: to get to one, a goroutine may
// have to wait for another.
const spareYields = 3

// do makes a call for an attempt.
func (g *gatherer) do(attempt any, by caller, request cruster.HTTPRequest) (cruster.HTTPResponse, error) {
	if !slices.Contains(reading, request.Method) {
		return by.Do(request)
	}
	mine := &gathered{request: request, done: make(chan struct{})}
	if g.add(attempt, mine) == 1 {
		send(by, g.gather(attempt))
	}
	<-mine.done
	return mine.result.Response, mine.result.Err
}

// add returns how many calls of the attempt wait now.
func (g *gatherer) add(attempt any, one *gathered) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting == nil {
		g.waiting = map[any][]*gathered{}
	}
	g.waiting[attempt] = append(g.waiting[attempt], one)
	return len(g.waiting[attempt])
}

// gather takes the calls that wait, when there come no more.
func (g *gatherer) gather(attempt any) []*gathered {
	for n, spare := 1, spareYields; spare > 0; spare-- {
		g.yield()
		g.mu.Lock()
		if more := len(g.waiting[attempt]); more > n {
			n, spare = more, spareYields+1
		}
		g.mu.Unlock()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	all := g.waiting[attempt]
	delete(g.waiting, attempt)
	return all
}

// send makes calls, as many at the same time as the host takes.
func send(by caller, all []*gathered) {
	for len(all) > 0 {
		n, room := 0, abi.MaxPayload
		for n < min(len(all), abi.MaxHTTPAll) && (n == 0 || roomOf(all[n].request) <= room) {
			room -= roomOf(all[n].request)
			n++
		}
		if n == 1 {
			all[0].result.Response, all[0].result.Err = by.Do(all[0].request)
			close(all[0].done)
		} else {
			sendTogether(by, all[:n])
		}
		all = all[n:]
	}
}

func sendTogether(by caller, all []*gathered) {
	requests := make([]cruster.HTTPRequest, len(all))
	for i, one := range all {
		requests[i] = one.request
	}
	results, err := by.DoAll(requests...)
	for i, one := range all {
		if one.result.Err = err; err == nil {
			one.result = results[i]
		}
		if abi.CodeOf(one.result.Err) == abi.CodeHTTPTooLarge {
			one.result.Response, one.result.Err = by.Do(one.request)
		}
		close(one.done)
	}
}

// reading are the methods that change nothing; without one it is GET.
var reading = []string{"", http.MethodGet, http.MethodHead, http.MethodOptions}

// roomOf returns an upper bound of a request's size in the body of a call.
func roomOf(r cruster.HTTPRequest) int {
	const form = 128
	return int(abi.ResponseRoom(r.Headers, int64(len(r.Body)))) + len(r.URL) + len(r.Method) + form
}
