package egress

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/cruster/cruster/abi"
)

// maxBeside bounds the calls that are under way beside the first of their activities, of all guests:
// each takes a connection and buffers. The first ones are bounded as activities are.
const maxBeside = 512

// DoAll makes several calls at the same time, each as [Client.Do] does. The results are in the
// order of the requests. Their responses together are as large as one response may be: the reply
// to the guest has no room for more, and neither has the host for a guest that asks for much. See
// [room] for the responses that are left out.
//
// A host that has many calls under way makes fewer of them at the same time, and one at least:
// calls of other guests never keep a call waiting, and the time of a call begins when it is made.
func (c *Client) DoAll(ctx context.Context, p *Policy, reqs []abi.HTTPRequest) []abi.HTTPResult {
	group := &callGroup{
		beside:  c.beside,
		results: make([]abi.HTTPResult, len(reqs)),
	}
	r := newRoom(c.cfg.MaxResponse, true)
	group.call = func(i int) (*abi.HTTPResponse, *abi.Error) { return c.do(ctx, p, reqs[i], r) }
	group.work()
	group.workers.Wait()
	if v := group.failed.Load(); v != nil {
		panic(v) // where it is known whose it is
	}
	return group.results
}

// callGroup is a group of calls, made by workers, each of which makes one call after the other.
type callGroup struct {
	call    func(i int) (*abi.HTTPResponse, *abi.Error)
	beside  *semaphore.Weighted
	results []abi.HTTPResult
	next    atomic.Int64
	workers sync.WaitGroup
	failed  atomic.Value
}

// work makes calls until all are made. Whenever it has one, and others are left, it looks for a
// second worker: calls that wait for no one begin at once, and the rest when there is room for them.
func (g *callGroup) work() {
	for {
		i := int(g.next.Add(1)) - 1
		if i >= len(g.results) {
			return
		}
		if i+1 < len(g.results) && g.beside.TryAcquire(1) {
			g.workers.Go(func() {
				defer g.beside.Release(1)
				g.work()
			})
		}
		g.make(i)
	}
}

func (g *callGroup) make(i int) {
	defer func() {
		if v := recover(); v != nil {
			g.failed.CompareAndSwap(nil, fmt.Errorf("%v\n%s", v, debug.Stack()))
		}
	}()
	g.results[i].Response, g.results[i].Error = g.call(i)
}
