package grpcserver

import (
	"context"
	"encoding/binary"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// arrival is an open call, or a call whose handler is still at work. A nil arrival is not counted. Fields
// without a note belong to the goroutine that reads the connection.
type arrival struct {
	conn    *countedConn
	prefix  [5]byte // of the next message
	got     int     // bytes of the prefix
	left    int64   // bytes of the message that are to come
	limit   int64   // of a message
	patient bool    // its handler limits the time of its messages
	refused bool    // nothing more of it counts

	over     bool         // guarded by the connection's mu; on the wire
	handlers int          // guarded by the connection's mu; that are at work: one, or none
	call     []func()     // guarded by the connection's mu; give back the memory of the call; none if it could not pay
	message  func()       // guarded by the connection's mu; gives back its message's memory; or nil
	answer   AnswerPermit // guarded by the connection's mu; the memory of its answer; or nil
	// guarded by the connection's mu; ends a connection whose message does not come, or whose answer is not taken; or
	// nil
	late *time.Timer
}

type arrivalKey struct{}

// arrivalOf is the call that a handler handles; nil if it is not counted.
func arrivalOf(ctx context.Context) *arrival {
	a, _ := ctx.Value(arrivalKey{}).(*arrival)
	return a
}

// paid tells whether there was memory for the call.
func (a *arrival) paid() bool {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	return len(a.call) > 0
}

// payHeaders takes memory for headers that are large. It reports false if there is none.
func (a *arrival) payHeaders(bytes int64) bool {
	if bytes <= freeHeaders {
		return true
	}
	release, ok := a.conn.arrivals.memory.AdmitRequest(bytes - freeHeaders)
	if !ok {
		return false
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	if a.over {
		release()
		return false
	}
	a.call = append(a.call, release)
	return true
}

// refuse has the transport refuse a message: length is where its length is on the way there.
func (a *arrival) refuse(length []byte, as uint32) error {
	a.refused = true
	if len(length) < 4 {
		return errMessageRefused
	}
	binary.BigEndian.PutUint32(length, as)
	return nil
}

// arrived says that a message is complete.
func (a *arrival) arrived() {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.stopLocked()
}

// letGo marks the message as unused.
func (a *arrival) letGo() {
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.letGoLocked()
}

func (a *arrival) stopLocked() {
	if a.late != nil {
		a.late.Stop()
		a.late = nil
	}
}

func (a *arrival) letGoLocked() {
	a.stopLocked()
	a.letGoMessageLocked()
}

func (a *arrival) letGoMessageLocked() {
	if a.message != nil {
		a.message()
		a.message = nil
	}
}

// overLocked marks the call as ended on the wire.
func (a *arrival) overLocked() {
	a.over = true
	a.stopLocked()
	a.settleLocked()
}

// settleLocked gives back the memory of the call, if no one uses any of it.
func (a *arrival) settleLocked() {
	if !a.over || a.handlers > 0 {
		return
	}
	a.letGoLocked()
	for _, release := range a.call {
		release()
	}
	a.call = nil
	a.letGoAnswerLocked()
}

// admitAnswer waits for the memory of an answer, before any of it is read.
func (a *arrival) admitAnswer(ctx context.Context, bytes int64) error {
	if a == nil {
		return nil
	}
	permit, err := a.conn.arrivals.memory.AdmitAnswer(ctx, bytes)
	if err != nil {
		return err
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.answer = permit // a handler asks once
	return nil
}

// failed gives back the memory of an answer that is not sent.
func (a *arrival) failed() {
	if a == nil {
		return
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.letGoAnswerLocked()
}

func (a *arrival) letGoAnswerLocked() {
	if a.answer != nil {
		a.answer.Release()
		a.answer = nil
	}
}

// answered shrinks the memory of the answer to its encoded size. The answer of a guest, whose size no handler knows in
// advance, takes its memory here, before it is encoded.
func (a *arrival) answered(ctx context.Context, resp any) error {
	m, ok := resp.(proto.Message)
	if a == nil || !ok {
		return nil
	}
	bytes := messageCopies * int64(proto.Size(m))
	a.conn.mu.Lock()
	paid := a.answer != nil
	a.conn.mu.Unlock()
	if !paid {
		if bytes <= messageCopies*freeMessage {
			return nil
		}
		if err := a.admitAnswer(ctx, bytes); err != nil {
			return err
		}
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	a.answer.ShrinkTo(bytes)
	a.stopLocked()
	if !a.over {
		a.late = time.AfterFunc(messageTimeout, func() { _ = a.conn.Close() })
	}
	return nil
}

// limitSend closes the connection if the client does not take the next message of a stream within messageTimeout, since
// the message holds memory. The handler calls end once the message is sent.
func (a *arrival) limitSend() (end func()) {
	if a == nil {
		return func() {}
	}
	late := time.AfterFunc(messageTimeout, func() { _ = a.conn.Close() })
	return func() { late.Stop() }
}

// handle marks the begin of a handler, which holds the message until it calls done. A call that has
// already ended is not handled: its memory is given back.
func (a *arrival) handle() (done func(), err error) {
	if a == nil {
		return func() {}, nil
	}
	a.conn.mu.Lock()
	defer a.conn.mu.Unlock()
	if a.over {
		return nil, status.Error(codes.Canceled, "the caller has given up the call")
	}
	a.handlers++
	return func() {
		a.conn.mu.Lock()
		defer a.conn.mu.Unlock()
		a.handlers--
		if a.answer == nil {
			a.stopLocked()
		}
		a.letGoMessageLocked()
		a.settleLocked()
	}, nil
}
