package grpcserver

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host/actor"
)

const (
	// maxTogether bounds the calls of one message of a stream.
	maxTogether = 1000
	// maxAnswers is about how many bytes of answers go into one message: enough for hundreds of small ones, while a
	// large one goes alone.
	maxAnswers = 64 << 10
	// maxStreams bounds the streams of calls of one connection, and maxStreamed the calls in flight
	// on one stream: their product is the number of unary calls allowed on the connection.
	maxStreams  = 4
	maxStreamed = maxCalls / maxStreams
	// maxUnsent is how many bytes of answers wait to be sent before no more is read.
	maxUnsent = 1 << 20
	// refusedFor is when a caller should try again whose call is one too many.
	refusedFor = 100 * time.Millisecond
)

// callStream serves the calls that one client makes over one stream.
//
// Each of them is handled as a Call: it has its own goroutine, deadline, guard and metrics, and may
// end in any order. Only the transport is shared: when an answer is sent, all pending answers go in
// the same message.
//
// Invariants: a call that was taken is answered once, unless its caller gave it up or is gone. It counts as under way
// until its answer was handed to the transport. So a client that does not read has the host keep no more answers than
// it could with calls of their own; and once there are many bytes of them, nothing more is read. No call outlives the
// handler. And when the host ends the stream, each call was taken and answered, or it is above the last that was taken,
// which the client is told.
type callStream struct {
	service *entityService
	stream  grpc.BidiStreamingServer[crusterv1.StreamCallsRequest, crusterv1.StreamCallsResponse]
	name    string          // the request id of the stream
	tasks   actor.TaskGroup // its goroutines keep the stacks that calls have grown
	wake    chan struct{}   // holds a token if there is something to send, or none is under way

	mu      sync.Mutex
	closed  bool                          // guarded by mu; no more calls are taken
	answers []*crusterv1.StreamedAnswer   // guarded by mu; to be sent
	unsent  int                           // guarded by mu; the bytes of answers that are not sent
	sent    sync.Cond                     // on mu; unsent fell, or the stream is closed
	open    map[uint64]context.CancelFunc // guarded by mu; to be answered
	taken   int                           // guarded by mu; the calls in flight
	last    uint64                        // guarded by mu; the id of the last one taken
}

func (s *entityService) StreamCalls(
	stream grpc.BidiStreamingServer[crusterv1.StreamCallsRequest, crusterv1.StreamCallsResponse],
) error {
	leave, err := s.streams.enter(stream.Context())
	if err != nil {
		return err
	}
	defer leave()
	c := &callStream{
		service: s, stream: stream, name: requestID(stream.Context()),
		wake: make(chan struct{}, 1), open: map[uint64]context.CancelFunc{},
	}
	c.sent.L = &c.mu
	ctx, cancel := s.lifetime.bound(stream.Context())
	defer func() { // none outlives the handler
		c.close()
		cancel()
		c.tasks.Close()
		<-c.tasks.Idle()
	}()
	read := make(chan error, 1)
	go func() { read <- c.read(ctx) }() // ends with the stream, which ends with the handler
	for {
		select {
		case <-c.wake:
			if _, err := c.flush(); err != nil {
				return err
			}
		case err := <-read:
			if err != nil {
				return err
			}
			return c.finish()
		case <-s.lifetime.ctx.Done():
			last := c.close()
			if err := c.finish(); err != nil {
				return err
			}
			return stream.Send(&crusterv1.StreamCallsResponse{LastTaken: &last})
		}
	}
}

// close stops taking calls, and returns the last taken.
func (c *callStream) close() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.sent.Broadcast()
	return c.last
}

// finish answers all that are under way.
func (c *callStream) finish() error {
	for {
		left, err := c.flush()
		if left == 0 || err != nil {
			return err
		}
		<-c.wake // each of them comes to its end, if only because the lifetime or the stream ends
	}
}

// flush sends the answers that are there, and returns how many calls are still under way.
func (c *callStream) flush() (left int, err error) {
	runtime.Gosched() // calls of one commit end together: the others are about to answer
	c.mu.Lock()
	answers := c.answers
	c.answers = nil
	c.mu.Unlock()
	for len(answers) > 0 {
		n, size := 0, 0
		for n < len(answers) && (n == 0 || size < maxAnswers) {
			size += answerSize(answers[n])
			n++
		}
		if err := c.stream.Send(&crusterv1.StreamCallsResponse{Answers: answers[:n]}); err != nil {
			return 0, err
		}
		answers = answers[n:]
		c.mu.Lock()
		c.taken, c.unsent = c.taken-n, c.unsent-size
		c.sent.Broadcast()
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken, nil
}

func (c *callStream) read(ctx context.Context) error {
	for {
		req, err := c.stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := c.take(ctx, req); err != nil {
			return err
		}
	}
}

// take begins the calls of a message. An error says that the client does not keep to the contract; it ends the stream.
func (c *callStream) take(ctx context.Context, req *crusterv1.StreamCallsRequest) error {
	if err := checkSize(req); err != nil {
		return err
	}
	if n := len(req.GetCalls()); n > maxTogether {
		return abi.Errorf(abi.CodeBadRequest, "%d calls in a message are over the limit of %d", n, maxTogether)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range req.GetGivenUp() {
		if cancel, ok := c.open[id]; ok {
			delete(c.open, id)
			cancel()
		}
	}
	for _, call := range req.GetCalls() {
		for c.unsent >= maxUnsent && !c.closed {
			c.sent.Wait()
		}
		switch {
		case c.closed:
			return nil
		case call.GetId() <= c.last:
			return abi.Errorf(
				abi.CodeBadRequest, "the call %d comes behind the call %d: ids ascend", call.GetId(), c.last,
			)
		}
		c.last = call.GetId()
		c.taken++
		if c.taken > maxStreamed {
			c.answerLocked(refusal(call.GetId()))
			continue
		}
		own, cancel := bound(ctx, call)
		c.open[c.last] = cancel
		c.tasks.Go(func() { c.perform(own, cancel, call) })
	}
	return nil
}

// refusal answers a call that is one too many. It was not performed.
func refusal(id uint64) *crusterv1.StreamedAnswer {
	st := rpcerror.Status(
		abi.Errorf(abi.CodeOverloaded, "more than %d calls of a stream are under way", maxStreamed), refusedFor,
	)
	text, _ := proto.Marshal(st.Proto()) // it encodes: its texts are UTF-8
	return &crusterv1.StreamedAnswer{Id: id, Status: text}
}

// bound gives a call the time that its caller waits.
func bound(ctx context.Context, call *crusterv1.StreamedCall) (context.Context, context.CancelFunc) {
	if call.Timeout == nil {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, call.Timeout.AsDuration())
}

func (c *callStream) perform(ctx context.Context, cancel context.CancelFunc, call *crusterv1.StreamedCall) {
	defer cancel()
	answer := &crusterv1.StreamedAnswer{Id: call.GetId()}
	id := c.name + "/" + strconv.FormatUint(call.GetId(), 10)
	err := c.service.around.call(ctx, crusterv1.EntityService_CallEntity_FullMethodName, id, func() (err error) {
		answer.Response, err = c.service.perform(ctx, call.GetRequest())
		return err
	})
	if err != nil {
		answer.Response = nil
		answer.Status, _ = proto.Marshal(status.Convert(err).Proto()) // it encodes: its texts are UTF-8
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.open[call.GetId()]; ok {
		delete(c.open, call.GetId())
		c.answerLocked(answer)
		return
	}
	c.taken-- // its caller gave it up
	c.notify()
}

// answerLocked has an answer be sent.
func (c *callStream) answerLocked(answer *crusterv1.StreamedAnswer) {
	c.answers = append(c.answers, answer)
	c.unsent += answerSize(answer)
	c.notify()
}

func (c *callStream) notify() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// answerSize is about how many bytes of memory an answer takes.
func answerSize(a *crusterv1.StreamedAnswer) int {
	result, failed := a.GetResponse().GetResult(), a.GetResponse().GetError()
	return 64 + len(result.GetMsgpack()) + len(result.GetJson()) + len(failed.GetMessage()) + len(
		failed.GetDetails(),
	) + len(a.GetStatus())
}
