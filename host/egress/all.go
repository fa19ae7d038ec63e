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
// Those that come late find no room.
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

// take tells whether there was room for n bytes.
func (r *room) take(n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left -= int64(n)
	return r.left >= 0
}

func (r *room) takeHeaders(headers []abi.Header) bool {
	if !r.shared {
		return true // they are bounded on their own
	}
	const each = 32 // what the form takes
	n := each
	for _, h := range headers {
		n += len(h.Name) + len(h.Value) + each
	}
	return r.take(n)
}

// A roomReader reads as long as there is room.
type roomReader struct {
	from io.Reader
	room *room
}

func (r *roomReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if !r.room.take(n) {
		return 0, errNoRoom
	}
	return n, err
}
