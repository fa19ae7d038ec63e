package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

const (
	// maxFruitless is after how many streams in a row that had no answer none is tried for
	// streamsRest: something between here and the host lets no streams through.
	maxFruitless = 3
	streamsRest  = time.Minute
)

// shared makes concurrent calls of entities share a stream: several travel in one message, which costs both sides a
// fraction of as many RPCs. A single call is an RPC of its own, and so is a large call, or a call with metadata or
// options of its own. For the caller, the retrier and other interceptors there is no difference.
//
// Invariants: a call is not taken (errNotTaken) only if no host has performed it; then it is made
// as an RPC, once there is a connection. A call that may have arrived and has no answer fails with
// codes.Unavailable, as an RPC would. And an error of one call does not affect the others: each is
// encoded by its own caller.
type shared struct {
	mu        sync.Mutex
	underWay  int         // guarded by mu; calls that could be on a stream
	stream    *callStream // guarded by mu; nil if there is none
	fruitless int         // guarded by mu; streams in a row that had no answer
	rests     time.Time   // guarded by mu; until when no stream is opened
}

func (s *shared) unary(
	ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker,
	opts ...grpc.CallOption,
) error {
	call, ok := req.(*crusterv1.CallEntityRequest)
	resp, answers := reply.(*crusterv1.CallEntityResponse)
	if !ok || !answers || !isPlain(ctx, opts) {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	stream := s.enter(cc)
	defer s.leave()
	if stream == nil {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	err := stream.do(ctx, call, resp)
	if !errors.Is(err, errNotTaken) {
		return err
	}
	if err := budgetOf(ctx).awaitConnection(ctx, cc); err != nil {
		return err
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
	if s.underWay == 1 {
		return nil
	}
	if s.stream == nil && time.Now().After(s.rests) {
		s.stream = newCallStream(s, cc)
		go s.stream.run()
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

// learn takes note of how a stream went that a call was sent on.
func (s *shared) learn(heard bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case heard:
		s.fruitless = 0
	case isRefusal(err): // by an older host, or one in front of it that does not know the method
		s.fruitless = maxFruitless
	default:
		s.fruitless++
	}
	if s.fruitless >= maxFruitless {
		s.fruitless, s.rests = 0, time.Now().Add(streamsRest)
	}
}
