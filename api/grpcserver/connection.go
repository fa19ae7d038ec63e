package grpcserver

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/cruster/cruster/api/rpcerror"
)

// countedConn is a connection whose calls and messages pay.
type countedConn struct {
	net.Conn
	arrivals *arrivals
	leave    func() // gives back its place and its memory, once
	in, out  frames // owned by the reading and the writing goroutine
	// Of the goroutine that reads, which the transport calls tap on as well.
	newest *arrival // the call that has begun last
	ahead  []byte   // read, and not handed over
	failed error    // of the read that brought that

	mu     sync.Mutex
	closed bool                // guarded by mu
	calls  map[uint32]*arrival // guarded by mu; the open calls, by stream
}

func newCountedConn(conn net.Conn, a *arrivals, leave func()) *countedConn {
	c := &countedConn{Conn: conn, arrivals: a, leave: sync.OnceFunc(leave), calls: map[uint32]*arrival{}}
	c.in.skip, c.in.byCall = len(clientPreface), true
	return c
}

// callerAddr is the address of a caller, by which tap finds the connection.
type callerAddr struct {
	net.Addr
	conn *countedConn
}

// RemoteAddr implements [net.Conn].
func (c *countedConn) RemoteAddr() net.Addr { return callerAddr{c.Conn.RemoteAddr(), c} }

var errMessageRefused = errors.New("grpcserver: a message is refused, and cannot be refused alone")

// Read implements [net.Conn]. It hands over the headers of one call at most.
func (c *countedConn) Read(p []byte) (int, error) {
	if len(c.ahead) > 0 {
		part := c.ahead[:min(len(p), len(c.ahead))]
		n, broken := c.in.scan(part, c.began, c.received)
		copy(p, part[:n])
		if c.ahead = c.ahead[n:]; len(c.ahead) == 0 {
			c.ahead = nil
		}
		return c.handOver(n, broken)
	}
	if err := c.failed; err != nil {
		return 0, err
	}
	n, err := c.Conn.Read(p)
	scanned, broken := c.in.scan(p[:n], c.began, c.received)
	if scanned < n {
		c.ahead = slices.Clone(p[scanned:n])
	}
	c.failed = err
	return c.handOver(scanned, broken)
}

// handOver is the result of a read.
func (c *countedConn) handOver(n int, broken error) (int, error) {
	switch {
	case broken != nil:
		_ = c.Close()
		return 0, broken
	case len(c.ahead) > 0:
		return n, nil
	default:
		return n, c.failed
	}
}

// Write implements [net.Conn].
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	_, _ = c.out.scan(p[:n], func(f frame) {
		if f.kind == frameReset || f.kind == frameHeaders && f.flags&flagEndStream != 0 {
			c.end(f.stream)
		}
	}, nil)
	return n, err
}

// Close implements [net.Conn].
func (c *countedConn) Close() error {
	c.mu.Lock()
	c.closed = true
	for stream := range c.calls {
		c.endLocked(stream)
	}
	c.mu.Unlock()
	defer c.leave()
	return c.Conn.Close()
}

// began is told of each frame of the caller.
func (c *countedConn) began(f frame) {
	switch f.kind {
	case frameHeaders:
		c.begin(f.stream)
	case frameReset:
		c.end(f.stream)
	}
}

func (c *countedConn) begin(stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newest = nil
	if c.closed || c.calls[stream] != nil { // trailers
		return
	}
	a := &arrival{conn: c, limit: c.arrivals.max}
	if release, ok := c.arrivals.memory.AdmitRequest(callCost); ok {
		a.call = []func(){release}
	}
	c.calls[stream], c.newest = a, a
}

func (c *countedConn) end(stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(stream)
}

func (c *countedConn) endLocked(stream uint32) {
	if a := c.calls[stream]; a != nil {
		delete(c.calls, stream)
		a.overLocked()
	}
}

// received is told of each piece of the messages of a call. It may change the piece: a length that no message may have
// makes the transport refuse it.
func (c *countedConn) received(stream uint32, piece []byte) error {
	c.mu.Lock()
	a := c.calls[stream]
	c.mu.Unlock()
	for a != nil && !a.refused && len(piece) > 0 {
		if a.left > 0 {
			n := min(a.left, int64(len(piece)))
			if a.left, piece = a.left-n, piece[n:]; a.left == 0 {
				a.arrived()
			}
			continue
		}
		n := copy(a.prefix[a.got:], piece)
		if a.got += n; a.got == len(a.prefix) {
			length := piece[:n][max(0, n-4):]
			a.got, a.left = 0, int64(binary.BigEndian.Uint32(a.prefix[1:]))
			if err := c.admit(a, length); err != nil {
				return err
			}
		}
		piece = piece[n:]
	}
	return nil
}

// admit takes memory for a message. Length is where its length is on its way to the transport, as far as that is not
// there already.
func (c *countedConn) admit(a *arrival, length []byte) error {
	a.letGo() // the message before it was read
	switch {
	case a.left > c.arrivals.max:
		a.refused = true // by the transport
		return nil
	case a.left > a.limit:
		return a.refuse(length, rpcerror.TooLargeLength)
	case a.left <= freeMessage:
		return nil
	}
	release, ok := c.arrivals.memory.AdmitRequest(messageCopies * a.left)
	if !ok {
		return a.refuse(length, rpcerror.RefusedLength)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.over { // meanwhile
		release()
		return nil
	}
	a.message = release
	if !a.patient {
		a.late = time.AfterFunc(messageTimeout, func() { _ = c.Close() })
	}
	return nil
}
