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
	several := &several{
		beside:  c.beside,
		results: make([]abi.HTTPResult, len(reqs)),
	}
	r := newRoom(c.cfg.MaxResponse, true)
	several.call = func(i int) (*abi.HTTPResponse, *abi.Error) { return c.do(ctx, p, reqs[i], r) }
	several.work()
	several.workers.Wait()
	if v := several.failed.Load(); v != nil {
		panic(v) // where it is known whose it is
	}
	return several.results
}

// several calls are made by workers, each one call after the other.
type several struct {
	call    func(i int) (*abi.HTTPResponse, *abi.Error)
	beside  *semaphore.Weighted
	results []abi.HTTPResult
	next    atomic.Int64
	workers sync.WaitGroup
	failed  atomic.Value
}

// work makes calls until all are made. Whenever it has one, and others are left, it looks for a
// second worker: calls that wait for no one begin at once, and the rest when there is room for them.
func (s *several) work() {
	for {
		i := int(s.next.Add(1)) - 1
		if i >= len(s.results) {
			return
		}
		if i+1 < len(s.results) && s.beside.TryAcquire(1) {
			s.workers.Go(func() {
				defer s.beside.Release(1)
				s.work()
			})
		}
		s.make(i)
	}
}

func (s *several) make(i int) {
	defer func() {
		if v := recover(); v != nil {
			s.failed.CompareAndSwap(nil, fmt.Errorf("%v\n%s", v, debug.Stack()))
		}
	}()
	s.results[i].Response, s.results[i].Error = s.call(i)
}
