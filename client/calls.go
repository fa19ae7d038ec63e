package client

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

const (
	// maxStreamed is the size up to which a call goes over the stream: a large one would hold
	// up the small ones behind it.
	maxStreamed = 64 << 10
	// maxOpen is how many calls of a stream may be under way; the host's limit.
	maxOpen = 10_000
	// maxTogether and maxMessage bound the calls of one message; the former is the host's limit.
	maxTogether = 1000
	maxMessage  = 1 << 20
	// streamLook is how often a stream is looked at: one without calls since the last look is
	// ended, and so is an old one, as the next may find another host.
	streamLook   = 30 * time.Second
	maxStreamAge = 5 * time.Minute
	// maxFruitless is after how many streams in a row that had no answer no more are tried:
	// something between here and the host lets no streams through.
	maxFruitless = 3
)

// errNotTaken says that a call was not performed, and can be made in another way.
var errNotTaken = errors.New("the stream did not take the call")

// shared makes calls of entities that are under way at the same time share a stream: several
// travel in one message, which costs both sides a fraction of as many RPCs. A call that is
// alone is an RPC of its own, and so is one that is large or wants something of the transport
// (metadata, options). For the caller, the retrier and other interceptors there is no difference.
//
// Invariant: a call fails with errNotTaken only if no host has performed it. One that may have
// arrived and has no answer fails with codes.Unavailable, as an RPC would.
type shared struct {
	mu        sync.Mutex
	underWay  int         // guarded by mu; calls that could be on a stream
	stream    *callStream // guarded by mu; nil if there is none
	fruitless int         // guarded by mu; streams in a row that had no answer
}

func (s *shared) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	call, ok := req.(*crusterv1.CallRequest)
	resp, answers := reply.(*crusterv1.CallResponse)
	if !ok || !answers || !isPlain(ctx, opts) {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	stream := s.enter(cc)
	defer s.leave()
	if stream != nil {
		if err := stream.do(ctx, call, resp); !errors.Is(err, errNotTaken) {
			return err
		}
	}
	return invoke(ctx, method, req, reply, cc, opts...)
}

// isPlain tells whether a call wants nothing of the transport.
func isPlain(ctx context.Context, opts []grpc.CallOption) bool {
	for _, opt := range opts {
		switch opt.(type) {
		case grpc.MaxRecvMsgSizeCallOption, grpc.StaticMethodCallOption:
		default:
			return false
		}
	}
	own, _ := metadata.FromOutgoingContext(ctx)
	return len(own) == 0
}

// enter counts a call, and returns the stream for it; nil if it is alone.
func (s *shared) enter(cc *grpc.ClientConn) *callStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay++
	if s.underWay == 1 || s.fruitless >= maxFruitless {
		return nil
	}
	if s.stream == nil {
		s.stream = newCallStream(s)
		go s.stream.run(cc)
	}
	return s.stream
}

func (s *shared) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.underWay--
}

// forget has later calls not use a stream.
func (s *shared) forget(stream *callStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stream == stream {
		s.stream = nil
	}
}

// learn takes note of how a stream went.
func (s *shared) learn(answered bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case isRefusal(err) && !answered:
		s.fruitless = maxFruitless // an older host, or one in front of it that does not know the method
	case answered:
		s.fruitless = 0
	default:
		s.fruitless++
	}
}

// callStream is one stream of calls.
type callStream struct {
	shared *shared
	begun  time.Time
	wake   chan struct{} // holds a token if there is something to send
	over   chan struct{} // closed when no answer comes any more

	mu       sync.Mutex
	closed   bool                      // guarded by mu; takes no more calls
	awaited  map[uint64]*awaited       // guarded by mu; by id
	queue    []*crusterv1.StreamedCall // guarded by mu; to be sent, ids ascend
	givenUp  []uint64                  // guarded by mu; sent, and their callers wait no longer
	last     uint64                    // guarded by mu; the id of the last call
	sent     uint64                    // guarded by mu; the last that was handed to the transport
	lookedAt uint64                    // guarded by mu; what last was at the last look
	answered bool                      // guarded by mu; it had an answer
}

// awaited is a call that waits for its answer.
type awaited struct {
	reply *crusterv1.CallResponse
	done  chan error // has room for one
}

func newCallStream(s *shared) *callStream {
	return &callStream{shared: s, begun: time.Now(), wake: make(chan struct{}, 1), over: make(chan struct{}), awaited: map[uint64]*awaited{}}
}

// do makes a call.
func (s *callStream) do(ctx context.Context, call *crusterv1.CallRequest, reply *crusterv1.CallResponse) error {
	streamed := &crusterv1.StreamedCall{Request: call}
	if proto.Size(call) > maxStreamed {
		return errNotTaken
	}
	if deadline, ok := ctx.Deadline(); ok {
		streamed.Timeout = durationpb.New(time.Until(deadline))
	}
	a := &awaited{reply: reply, done: make(chan error, 1)}
	if !s.add(streamed, a) {
		return errNotTaken
	}
	s.notify()
	select {
	case err := <-a.done:
		return err
	case <-ctx.Done():
		if !s.giveUp(streamed.GetId()) {
			return <-a.done // it has one, just now
		}
		return status.FromContextError(ctx.Err()).Err()
	}
}

// add queues a call, and reports whether it did.
func (s *callStream) add(call *crusterv1.StreamedCall, a *awaited) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.awaited) >= maxOpen {
		return false
	}
	s.last++
	call.Id = s.last
	s.awaited[call.Id] = a
	s.queue = append(s.queue, call)
	return true
}

// giveUp ends the waiting for a call. It reports false if the call has its answer.
func (s *callStream) giveUp(id uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.awaited[id] == nil {
		return false
	}
	delete(s.awaited, id)
	if id <= s.sent {
		s.givenUp = append(s.givenUp, id)
		s.notify()
	}
	return true
}

func (s *callStream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run opens the stream and sends calls until it is over.
func (s *callStream) run(cc *grpc.ClientConn) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := crusterv1.NewEntityServiceClient(cc).Calls(ctx)
	if err != nil {
		s.end(err, nil)
		return
	}
	go s.receive(stream)
	look := time.NewTicker(streamLook)
	defer look.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-look.C:
			s.look()
		case <-s.wake:
			runtime.Gosched() // those who were answered together call together: the others are about to
		}
		for {
			req := s.next()
			if req == nil {
				break
			}
			if stream.Send(req) != nil {
				<-s.over // the receiver is told why
				return
			}
		}
		if s.isDone() {
			_ = stream.CloseSend() // never fails
			<-s.over
			return
		}
	}
}

// look has a stream that is idle or old take no more calls.
func (s *callStream) look() {
	s.mu.Lock()
	retire := s.last == s.lookedAt && len(s.awaited) == 0 || time.Since(s.begun) >= maxStreamAge
	s.closed, s.lookedAt = s.closed || retire, s.last
	s.mu.Unlock()
	if retire {
		s.shared.forget(s)
	}
}

// isDone tells whether nothing is left to do for a stream that takes no more calls.
func (s *callStream) isDone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && len(s.awaited) == 0
}

// next is the next message; nil if there is nothing to send.
func (s *callStream) next() *crusterv1.CallsRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := &crusterv1.CallsRequest{GivenUp: s.givenUp}
	s.givenUp = nil
	taken := 0
	for size := 0; taken < len(s.queue) && len(req.Calls) < maxTogether && size < maxMessage; taken++ {
		if call := s.queue[taken]; s.awaited[call.GetId()] != nil {
			req.Calls = append(req.Calls, call)
			s.sent = call.GetId()
			size += proto.Size(call)
		}
	}
	if s.queue = s.queue[taken:]; len(s.queue) == 0 {
		s.queue = nil
	}
	if len(req.Calls) == 0 && len(req.GivenUp) == 0 {
		return nil
	}
	return req
}

// receive hands out the answers until the stream ends.
func (s *callStream) receive(stream grpc.BidiStreamingClient[crusterv1.CallsRequest, crusterv1.CallsResponse]) {
	var lastTaken *uint64
	for {
		resp, err := stream.Recv()
		if err != nil {
			s.end(err, lastTaken)
			return
		}
		if resp.LastTaken != nil {
			lastTaken = resp.LastTaken
		}
		s.hand(resp.GetAnswers())
	}
}

func (s *callStream) hand(answers []*crusterv1.StreamedAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, answer := range answers {
		a := s.awaited[answer.GetId()]
		if a == nil {
			continue // its caller waits no longer
		}
		delete(s.awaited, answer.GetId())
		s.answered = true
		a.done <- take(answer, a.reply)
	}
	if s.closed && len(s.awaited) == 0 {
		s.notify()
	}
}

// take fills a reply from an answer, or returns its error.
func take(answer *crusterv1.StreamedAnswer, reply *crusterv1.CallResponse) error {
	if resp := answer.GetResponse(); resp != nil {
		reply.Result, reply.Error = resp.GetResult(), resp.GetError()
		return nil
	}
	var st spb.Status
	if err := proto.Unmarshal(answer.GetStatus(), &st); err != nil || st.GetCode() == int32(codes.OK) {
		return status.Error(codes.Internal, "the host sent an answer that is none")
	}
	return status.FromProto(&st).Err()
}

// end fails all that wait.
func (s *callStream) end(err error, lastTaken *uint64) {
	defer close(s.over)
	s.shared.forget(s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shared.learn(s.answered || lastTaken != nil, err)
	s.closed = true
	arrived := s.sent
	switch {
	case isRefusal(err) && !s.answered:
		arrived = 0
	case lastTaken != nil:
		arrived = min(arrived, *lastTaken)
	}
	for id, a := range s.awaited {
		if id > arrived {
			a.done <- errNotTaken
		} else {
			a.done <- lostWith(err)
		}
	}
	clear(s.awaited)
	s.queue = nil
}

// isRefusal tells whether an error says that the method is not to be called: it comes before
// anything of the stream is looked at. What holds for a single call is for the host to say.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied:
		return true
	default:
		return false
	}
}

// lostWith is the error of a call that has no answer because its stream ended. That the client did
// not keep to the contract stays what it is; all else is the loss of a connection.
func lostWith(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.InvalidArgument:
		return err
	}
	if errors.Is(err, io.EOF) {
		return status.Error(codes.Unavailable, "the host ended the stream of calls")
	}
	return status.Errorf(codes.Unavailable, "the stream of calls ended: %s", status.Convert(err).Message())
}
