package grpcserver

import (
	"context"
	"net"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/tap"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
)

// # Messages pay before they arrive
//
// The transport collects the message of a call before it calls anything of ours: a caller that
// begins sixty messages of 33 MB and finishes none has the host hold all of them, and a caller that
// only begins calls has it hold thousands of streams. The length of a message stands in front of
// it, but the transport tells no one. So the bytes of each connection are looked at on their way
// (frames.go, connection.go), and each message that is not small takes its memory out of the budget
// when its length is known. If there is none, or the message is larger than messages of its method
// are, it is refused: its length is changed on the way, so that the transport takes it for too
// large, and does so before it reads more. A wait is not possible: other messages of the same
// connection would wait behind it, including messages that would free memory.
//
// A connection hands the transport the headers of one call at a time. So when the transport asks
// tap about a call, that is the most recently begun call of its connection: it is refused if it
// could not pay, its method is known before its message begins, and its handler finds it in its
// context (arrival.go).
//
// Invariants: a call is refused only for its own cost, whatever others hold, have left unread or
// were refused. Its memory is given back when the call ends, which the frames of either side tell,
// or with the connection; but not while its handler works, which has the message in hand also after
// the caller has given it up. And a message that does not come to its end in messageTimeout ends
// its connection, unless its handler limits the time itself; so does a page that is not taken in
// that time. So an unfinished message holds nothing for ever.
//
// The handlers of histories, lists and descriptions acquire the memory of a page before they read it, and handlers of
// results the memory of the result. They wait in order, and hold no other memory meanwhile. An answer that turns out
// smaller gives the rest back; a call that fails gives all of it back. The answer of a guest has its size only once it
// is there: its memory is acquired before it is encoded.
const (
	// callCost approximates the transport's memory for an open call, with headers of freeHeaders.
	callCost    = 8 << 10
	freeHeaders = 4 << 10
	// freeMessage is the size up to which messages are not counted by themselves.
	freeMessage = 4 << 10
	// messageCopies is how often a message is in memory: as it came, and decoded. pageCopies is how often a page is
	// while it is made: as it was read, as a message, and encoded.
	messageCopies = 2
	pageCopies    = 3
)

// RequestMemory is the part of the host's memory that calls, their messages and their answers have: see
// host/budget.
type RequestMemory interface {
	// AdmitConnection takes memory for a connection, if there is some.
	AdmitConnection() (release func(), ok bool)
	// AdmitRequest takes memory for a call or its message, if there is some.
	AdmitRequest(bytes int64) (release func(), ok bool)
	// AdmitAnswer waits for the memory of an answer.
	AdmitAnswer(ctx context.Context, bytes int64) (AnswerPermit, error)
}

// AnswerPermit is the memory of an answer.
type AnswerPermit = host.AnswerPermit

// arrivals tracks the arriving calls of all connections.
type arrivals struct {
	max         int64 // of a message of any method; the transport refuses larger ones itself
	limits      limits
	memory      RequestMemory
	connections *connections
}

// newArrivals looks after connections on which an upload may have so many bytes.
func newArrivals(upload int64, memory RequestMemory, connections *connections) *arrivals {
	if memory == nil {
		memory = unlimited{}
	}
	return &arrivals{max: max(upload, maxRequest), limits: limitsOf(upload), memory: memory, connections: connections}
}

// unlimited is the memory of a host that counts nothing.
type unlimited struct{}

func (unlimited) AdmitConnection() (release func(), ok bool) { return func() {}, true }

func (unlimited) AdmitRequest(int64) (release func(), ok bool) { return func() {}, true }

func (unlimited) AdmitAnswer(context.Context, int64) (AnswerPermit, error) { return unlimited{}, nil }

func (unlimited) ShrinkTo(int64) {}

func (unlimited) Release() {}

// tap is asked about each call before the transport has anything of it but its headers.
func (a *arrivals) tap(ctx context.Context, info *tap.Info) (context.Context, error) {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ctx, nil
	}
	from, ok := p.Addr.(callerAddr)
	if !ok || from.conn.newest == nil {
		return ctx, nil // not from a listener of ours
	}
	call := from.conn.newest
	call.limit, call.patient = a.limits.of(info.FullMethodName)
	if !call.paid() || !call.payHeaders(sizeOf(info.Header)) {
		call.refused = true
		return ctx, rpcerror.Status(
			abi.Errorf(abi.CodeOverloaded, "the host has no memory left for further calls"), refusedFor,
		).Err()
	}
	return context.WithValue(ctx, arrivalKey{}, call), nil
}

// sizeOf is about how much memory headers take.
func sizeOf(headers metadata.MD) (bytes int64) {
	const field = 64
	for name, values := range headers {
		for _, value := range values {
			bytes += int64(field + len(name) + len(value))
		}
	}
	return bytes
}

// listen has the connections of a listener looked after.
func (a *arrivals) listen(l net.Listener) net.Listener { return &countingListener{l, a} }

type countingListener struct {
	net.Listener
	arrivals *arrivals
}

// Accept implements [net.Listener]. A connection that is one too many is closed.
func (l *countingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave, ok := l.arrivals.connections.enter(conn.RemoteAddr(), l.arrivals.memory); ok {
			return newCountedConn(conn, l.arrivals, leave), nil
		}
		_ = conn.Close()
	}
}
