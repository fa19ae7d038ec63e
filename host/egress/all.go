package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/cruster/cruster/abi"
)

// DoAll makes several calls at the same time, each as [Client.Do] does. The results are in the
// order of the requests. Their responses together are as large as one response may be: the reply
// to the guest has no room for more, and neither has the host for a guest that asks for much.
//
// A response whose length is known takes its room before it is read, and one that fails gives back what
// it took: so those that fit are there, whatever else is read beside them. One without a length takes
// room as it comes; if there is none left it fails, and the others go on.
func (c *Client) DoAll(ctx context.Context, p *Policy, reqs []abi.HTTPRequest) []abi.HTTPResult {
	results := make([]abi.HTTPResult, len(reqs))
	r := &room{left: c.cfg.MaxResponse, shared: true}
	var all sync.WaitGroup
	var failed atomic.Value
	for i := range reqs {
		all.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					failed.CompareAndSwap(nil, fmt.Errorf("%v\n%s", v, debug.Stack()))
				}
			}()
			results[i].Response, results[i].Error = c.do(ctx, p, reqs[i], r)
		})
	}
	all.Wait()
	if v := failed.Load(); v != nil {
		panic(v) // where it is known whose it is
	}
	return results
}

var errNoRoom = errors.New("there is no room for the response")

// A room is how many bytes responses may still take.
type room struct {
	shared bool // by several: then headers count

	mu   sync.Mutex
	left int64 // guarded by mu
}

// take takes room for n bytes, if there is any.
func (r *room) take(n int64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left < n {
		return false
	}
	r.left -= n
	return true
}

func (r *room) giveBack(n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left += n
}

// A share is what one response has of a room.
type share struct {
	room         *room
	taken, spent int64 // spent of what was taken
}

// takeHeaders takes room for the headers of a response, and for its body if its length is known.
func (p *share) takeHeaders(headers []abi.Header, length int64) bool {
	n := max(length, 0)
	if p.room.shared { // otherwise headers are bounded on their own
		n = abi.ResponseRoom(headers, n)
	}
	if !p.room.take(n) {
		return false
	}
	p.taken, p.spent = n, n-max(length, 0)
	return true
}

// grow makes sure that there is room for n bytes more.
func (p *share) grow(n int64) bool {
	if more := p.spent + n - p.taken; more > 0 {
		if !p.room.take(more) {
			return false
		}
		p.taken += more
	}
	p.spent += n
	return true
}

// leave gives back all that was taken.
func (p *share) leave() {
	p.room.giveBack(p.taken)
	p.taken, p.spent = 0, 0
}

// A roomReader reads as long as there is room.
type roomReader struct {
	from  io.Reader
	share *share
}

func (r *roomReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if !r.share.grow(int64(n)) {
		return 0, errNoRoom
	}
	return n, err
}
