package grpcserver

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/tap"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpcerror"
)

// # Messages pay before they arrive
//
// The transport collects the message of a call before it calls anything of ours: a caller that
// begins sixty messages of 33 MB and finishes none has the host hold all of them, and a caller that only
// begins calls has it hold thousands of streams. The length of a message stands in front of it, but the transport tells
// no one. So the bytes of each connection are looked at on their way (frames.go), and each message that is not small
// takes its memory out of the budget when its length is known. If there is none, it is
// refused: its length is changed on the way, so that the transport takes it for too large, and does so before it reads
// more. A wait is not possible: other messages of the same connection would wait behind it, those that are to give memory back among them.
//
// Invariant: what was taken is given back when the call is over, which the frames of either side tell, or
// with the connection; and a message that does not come to its end in messageTimeout ends its connection. So nothing
// is held for ever by those who begin and do not finish.
const (
	// callCost is about what the transport keeps of a call that is open.
	callCost = 8 << 10
	// freeMessage is the size up to which messages are not counted by themselves.
	freeMessage = 4 << 10
	// messageCopies is how often a message is in memory: as it came, and decoded.
	messageCopies = 2
)

// RequestMemory is the part of the host's memory that calls and their messages have: see
// host/budget.
type RequestMemory interface {
	// AdmitRequest takes memory for a call or its message, if there is some.
	AdmitRequest(bytes int64) (release func(), ok bool)
}

// arrivals looks after what arrives on all connections.
type arrivals struct {
	max    int64 // of a message; the transport refuses larger ones itself
	memory RequestMemory
	unpaid atomic.Int64 // open calls that there was no memory for
}

// tap refuses calls while there is no memory for them, before the transport has anything of
// them.
func (a *arrivals) tap(ctx context.Context, _ *tap.Info) (context.Context, error) {
	if a.unpaid.Load() > 0 {
		return ctx, rpcerror.Status(abi.Errorf(abi.CodeOverloaded, "the host has no memory left for further calls"), refusedFor).Err()
	}
	return ctx, nil
}

// listen has the connections of a listener looked after.
func (a *arrivals) listen(l net.Listener) net.Listener {
	if a.memory == nil {
		return l
	}
	return &countingListener{l, a}
}

type countingListener struct {
	net.Listener
	arrivals *arrivals
}

// Accept implements [net.Listener].
func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &countedConn{Conn: conn, arrivals: l.arrivals, calls: map[uint32]*arrival{}}
	c.in.skip = len(clientPreface)
	return c, nil
}

// countedConn is a connection whose calls and messages pay.
type countedConn struct {
	net.Conn
	arrivals *arrivals
	in, out  frames // of the goroutine that reads, and of the one that writes

	mu     sync.Mutex
	closed bool                // guarded by mu
	calls  map[uint32]*arrival // guarded by mu; those that are open, by stream
}

// arrival is a call that is open. Its messages belong to the goroutine that reads.
type arrival struct {
	prefix  [5]byte // of the next message
	got     int     // bytes of the prefix
	left    int64   // bytes of the message that are to come
	refused bool    // nothing more of it counts

	unpaid  bool        // guarded by the connection's mu
	call    func()      // guarded by the connection's mu; gives back the memory of the call
	message func()      // guarded by the connection's mu; gives back that of its message
	late    *time.Timer // guarded by the connection's mu; ends a connection whose message does not come
}

var errMessageRefused = errors.New("grpcserver: there is no memory for a message, and it cannot be refused alone")

// Read implements [net.Conn].
func (c *countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	broken := c.in.scan(p[:n], c.began, c.received)
	if broken != nil {
		_ = c.Close()
		return 0, broken
	}
	return n, err
}

// Write implements [net.Conn].
func (c *countedConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	_ = c.out.scan(p[:n], func(f frame) {
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
	if c.closed || c.calls[stream] != nil { // trailers
		return
	}
	a := &arrival{}
	release, ok := c.arrivals.memory.AdmitRequest(callCost)
	if ok {
		a.call = release
	} else {
		a.unpaid = true
		c.arrivals.unpaid.Add(1)
	}
	c.calls[stream] = a
}

func (c *countedConn) end(stream uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(stream)
}

func (c *countedConn) endLocked(stream uint32) {
	a := c.calls[stream]
	if a == nil {
		return
	}
	delete(c.calls, stream)
	if a.unpaid {
		c.arrivals.unpaid.Add(-1)
	}
	if a.call != nil {
		a.call()
	}
	a.giveBackLocked()
}

func (a *arrival) giveBackLocked() {
	if a.late != nil {
		a.late.Stop()
	}
	if a.message != nil {
		a.message()
	}
	a.late, a.message = nil, nil
}

// received is told of each piece of the messages of a call. It may change the piece: a length
// that no message may have makes the transport refuse it.
func (c *countedConn) received(stream uint32, piece []byte) error {
	c.mu.Lock()
	a := c.calls[stream]
	c.mu.Unlock()
	for a != nil && !a.refused && len(piece) > 0 {
		if a.left > 0 {
			n := min(a.left, int64(len(piece)))
			if a.left, piece = a.left-n, piece[n:]; a.left == 0 {
				c.arrived(a)
			}
			continue
		}
		n := copy(a.prefix[a.got:], piece)
		if a.got += n; a.got == len(a.prefix) {
			length := piece[:n][max(0, n-4):]
			a.got, a.left = 0, int64(binary.BigEndian.Uint32(a.prefix[1:]))
			if err := c.admit(stream, a, length); err != nil {
				return err
			}
		}
		piece = piece[n:]
	}
	return nil
}

// arrived says that a message is complete.
func (c *countedConn) arrived(a *arrival) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a.late != nil {
		a.late.Stop()
	}
}

// admit takes memory for a message. Length is where its length is on its way to the
// transport, as far as that is not there already.
func (c *countedConn) admit(stream uint32, a *arrival, length []byte) error {
	c.mu.Lock()
	a.giveBackLocked() // the message before it was read
	c.mu.Unlock()
	if a.left <= freeMessage {
		return nil
	}
	if a.left > c.arrivals.max {
		a.refused = true // by the transport
		return nil
	}
	release, ok := c.arrivals.memory.AdmitRequest(messageCopies * a.left)
	if !ok {
		a.refused = true
		if len(length) < 4 {
			return errMessageRefused
		}
		binary.BigEndian.PutUint32(length, rpcerror.RefusedLength)
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[stream] != a { // it is over
		release()
		return nil
	}
	a.message, a.late = release, time.AfterFunc(messageTimeout, func() { _ = c.Close() })
	return nil
}
