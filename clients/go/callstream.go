package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"
	"sync"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

const (
	// maxStreamed is the size up to which a call goes over the stream: a large one would hold up the small ones behind
	// it.
	maxStreamed = 64 << 10
	// maxOpen is how many calls of a stream may be under way. The host's limit is above it: it
	// counts calls that were given up until they have ended.
	maxOpen = 2000
	// maxTogether and maxMessage bound the calls of one message; the former is the host's limit.
	maxTogether = 1000
	maxMessage  = 1 << 20
	// streamLook is how often a stream is looked at: one without calls since the last look is
	// ended, and so is an old one, as the next may find another host.
	streamLook   = 30 * time.Second
	maxStreamAge = 5 * time.Minute
)

// errNotTaken says that a call was not performed, and can be made in another way.
var errNotTaken = errors.New("the stream did not take the call")

// callStream is one stream of calls.
type callStream struct {
	shared *shared
	conn   *grpc.ClientConn
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
	lookedAt progress                  // guarded by mu; how far it was at the last look
	heard    bool                      // guarded by mu; something came from the host
}

// progress is how far a stream is.
type progress struct{ last, sent uint64 }

// awaited is a call that waits for its answer.
type awaited struct {
	reply *crusterv1.CallEntityResponse
	done  chan error // has room for one
}

func newCallStream(s *shared, cc *grpc.ClientConn) *callStream {
	return &callStream{
		shared:  s,
		conn:    cc,
		begun:   time.Now(),
		wake:    make(chan struct{}, 1),
		over:    make(chan struct{}),
		awaited: map[uint64]*awaited{},
	}
}

// do makes a call.
func (s *callStream) do(
	ctx context.Context, call *crusterv1.CallEntityRequest, reply *crusterv1.CallEntityResponse,
) error {
	streamed, ok := encode(call)
	if !ok {
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

// encode makes a call of a stream. It reports false if the call does not suit a stream: too large,
// or not encodable. The request is in it as encoded bytes, in the place of the field that has it:
// later changes by its caller do not affect the stream.
func encode(call *crusterv1.CallEntityRequest) (*crusterv1.StreamedCall, bool) {
	request, err := proto.Marshal(call)
	if err != nil || len(request) > maxStreamed {
		return nil, false
	}
	streamed := &crusterv1.StreamedCall{}
	field := protowire.AppendTag(make([]byte, 0, len(request)+8), requestField, protowire.BytesType)
	streamed.ProtoReflect().SetUnknown(protowire.AppendBytes(field, request))
	return streamed, true
}

// requestField is the number of the field of a StreamedCall that has the request.
var requestField = (&crusterv1.StreamedCall{}).ProtoReflect().Descriptor().Fields().ByName("request").Number()

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
	} else if at, ok := slices.BinarySearchFunc(s.queue, id, byID); ok {
		s.queue = slices.Delete(s.queue, at, at+1)
	}
	s.notify()
	return true
}

func byID(call *crusterv1.StreamedCall, id uint64) int { return cmp.Compare(call.GetId(), id) }

func (s *callStream) notify() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run opens the stream and sends calls until it ends.
func (s *callStream) run() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stream, err := crusterv1.NewEntityServiceClient(s.conn).StreamCalls(ctx)
	if err != nil {
		s.end(err, nil)
		return
	}
	go s.receive(stream)
	go s.watch()
	for {
		select {
		case <-s.over:
			return
		case <-s.wake:
			runtime.Gosched() // callers answered together call together: the others are about to
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

// watch looks at a stream until it takes no more calls.
func (s *callStream) watch() {
	look := time.NewTicker(streamLook)
	defer look.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-look.C:
			if s.look() {
				s.shared.forget(s)
				s.notify()
				return
			}
		}
	}
}

// look has a stream that is idle, old or stuck take no more calls, and reports whether it did.
func (s *callStream) look() (retired bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := progress{s.last, s.sent}
	idle := now.last == s.lookedAt.last && len(s.awaited) == 0
	stuck := now.sent == s.lookedAt.sent && len(s.queue) > 0
	if idle || stuck || time.Since(s.begun) >= maxStreamAge {
		s.closed = true
	}
	s.lookedAt = now
	return s.closed
}

// isDone tells whether nothing is left to do for a stream that takes no more calls.
func (s *callStream) isDone() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed && len(s.awaited) == 0
}

// next is the next message; nil if there is nothing to send.
func (s *callStream) next() *crusterv1.StreamCallsRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	req := &crusterv1.StreamCallsRequest{GivenUp: s.givenUp}
	s.givenUp = nil
	taken := 0
	for size := 0; taken < len(s.queue) && taken < maxTogether && size < maxMessage; taken++ {
		s.sent = s.queue[taken].GetId()
		size += len(s.queue[taken].ProtoReflect().GetUnknown())
	}
	req.Calls = s.queue[:taken:taken]
	if s.queue = s.queue[taken:]; len(s.queue) == 0 {
		s.queue = nil
	}
	if len(req.Calls) == 0 && len(req.GivenUp) == 0 {
		return nil
	}
	return req
}

// receive hands out the answers until the stream ends.
func (s *callStream) receive(
	stream grpc.BidiStreamingClient[crusterv1.StreamCallsRequest, crusterv1.StreamCallsResponse],
) {
	var lastTaken *uint64
	for {
		resp, err := stream.Recv()
		if err != nil {
			s.end(err, lastTaken)
			return
		}
		if resp.LastTaken != nil {
			lastTaken = resp.LastTaken // of the last message
		}
		s.hand(resp.GetAnswers())
	}
}

func (s *callStream) hand(answers []*crusterv1.StreamedAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = true
	for _, answer := range answers {
		a := s.awaited[answer.GetId()]
		if a == nil {
			continue // its caller waits no longer
		}
		delete(s.awaited, answer.GetId())
		a.done <- take(answer, a.reply)
	}
	if s.closed && len(s.awaited) == 0 {
		s.notify()
	}
}

// take fills a reply from an answer, or returns its error.
func take(answer *crusterv1.StreamedAnswer, reply *crusterv1.CallEntityResponse) error {
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
	if s.sent > 0 {
		s.shared.learn(s.heard, err)
	}
	s.closed = true
	arrived := s.sent
	switch {
	case isRefusal(err) && !s.heard:
		arrived = 0
	case lastTaken != nil:
		arrived = min(arrived, *lastTaken)
	}
	for id, a := range s.awaited {
		if id > arrived {
			a.done <- errNotTaken
		} else {
			a.done <- s.lostWith(err)
		}
	}
	clear(s.awaited)
	s.queue = nil
}

// isRefusal tells whether an error, the first that was heard of a stream, says that there is to be
// no such stream: it comes before anything of the stream is looked at. Errors of a single call are
// the host's to report.
func isRefusal(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.Unauthenticated, codes.PermissionDenied, codes.ResourceExhausted:
		return true
	default:
		return false
	}
}

// lostWith is the error of a call that may have arrived and has no answer because its stream ended:
// the reason is no answer to the call.
func (s *callStream) lostWith(err error) error {
	switch {
	case s.conn.GetState() == connectivity.Shutdown:
		return err // the client is closed
	case errors.Is(err, io.EOF):
		return status.Error(codes.Unavailable, "the host ended the stream of calls")
	default:
		return status.Errorf(codes.Unavailable, "the stream of calls ended: %s", status.Convert(err).Message())
	}
}
