package egress

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/cruster/cruster/abi"
)

var errNoRoom = errors.New("there is no room for the response")

// A room is how many bytes the responses of one call of a guest may take together. A response whose
// length is known takes its room before it is read, one without a length takes room as it comes, and a response
// that fails gives its room back.
//
// A response that finds too little waits while another is being read, which may fail yet. When all
// that is left waits, the largest of them is left out, and the others go on: so responses are left out only
// if the arrived ones are too large together, and never for a response that did not come.
type room struct {
	size   int64
	shared bool // by several: then headers count

	mu      sync.Mutex
	changed sync.Cond
	left    int64 // guarded by mu
	reading int   // shares that have room and do not wait; guarded by mu
	waiting map[*share]struct{}
}

func newRoom(size int64, shared bool) *room {
	r := &room{size: size, shared: shared, left: size, waiting: map[*share]struct{}{}}
	r.changed.L = &r.mu
	return r
}

// A share is the part of a room that one response has. It is used by one goroutine.
type share struct {
	room  *room
	spent int64 // of the taken room

	taken   int64 // guarded by room.mu, as are the rest
	wanted  int64 // more, while it waits
	leftOut bool
}

// take takes room for n bytes more, if there is any before the context ends.
func (s *share) take(ctx context.Context, n int64) error {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.taken+n > r.size {
		return errNoRoom
	}
	if r.left < n {
		if err := s.wait(ctx, n); err != nil {
			return err
		}
	}
	if s.taken == 0 && n > 0 {
		r.reading++
	}
	s.taken += n
	r.left -= n
	return nil
}

// wait waits until there is room for n bytes more.
func (s *share) wait(ctx context.Context, n int64) error {
	r := s.room
	stop := context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changed.Broadcast()
	})
	defer stop()
	if s.taken > 0 {
		r.reading--
	}
	s.wanted = n
	r.waiting[s] = struct{}{}
	defer func() {
		delete(r.waiting, s)
		if s.taken > 0 {
			r.reading++
		}
	}()
	for r.left < n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.reading == 0 && !s.leftOut {
			r.leaveOut()
		}
		if s.leftOut {
			return errNoRoom
		}
		r.changed.Wait()
	}
	return nil
}

// leaveOut leaves out the largest waiting response, if none is on its way out.
func (r *room) leaveOut() {
	var largest *share
	for s := range r.waiting {
		if s.leftOut {
			return
		}
		if largest == nil || s.taken+s.wanted > largest.taken+largest.wanted {
			largest = s
		}
	}
	largest.leftOut = true
	r.changed.Broadcast()
}

// read says that the response is there, and keeps its room.
func (s *share) read() { s.end(0) }

// leave gives back all that was taken.
func (s *share) leave() {
	s.end(s.taken)
	s.spent = 0
}

func (s *share) end(back int64) {
	r := s.room
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.taken > 0 {
		r.reading--
	}
	r.left += back
	s.taken = 0
	r.changed.Broadcast()
}

// takeHeaders takes room for the headers of a response, and for its body if its length is known.
func (s *share) takeHeaders(ctx context.Context, headers []abi.Header, length int64) error {
	n := max(length, 0)
	if s.room.shared { // otherwise headers are bounded on their own
		n = abi.ResponseRoom(headers, n)
	}
	s.spent = n - max(length, 0)
	return s.take(ctx, n)
}

// grow makes sure that there is room for n bytes more of the body.
func (s *share) grow(ctx context.Context, n int64) error {
	s.spent += n
	if more := s.spent - s.taken; more > 0 {
		return s.take(ctx, more)
	}
	return nil
}

// A roomReader reads as long as there is room.
type roomReader struct {
	from io.Reader
	grow func(n int64) error
}

func (r *roomReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if full := r.grow(int64(n)); full != nil {
		return 0, full
	}
	return n, err
}
