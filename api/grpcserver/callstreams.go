package grpcserver

import (
	"context"
	"sync"

	"google.golang.org/grpc/peer"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
)

// callStreams counts the streams of calls of each connection. Its zero value is ready to use.
type callStreams struct {
	mu sync.Mutex
	n  map[string]int // guarded by mu; by the address of the peer
}

// enter counts a stream until leave. It refuses one too many: each has goroutines and answers that
// wait, and the bounds of the transport know only of the calls of a connection.
func (s *callStreams) enter(ctx context.Context) (leave func(), err error) {
	connection := ""
	if p, ok := peer.FromContext(ctx); ok && p.Addr != nil {
		connection = p.Addr.String()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n[connection] >= maxStreams {
		reason := abi.Errorf(abi.CodeOverloaded, "the connection has %d streams of calls", maxStreams)
		return nil, &host.Overloaded{Reason: reason, After: refusedFor}
	}
	if s.n == nil {
		s.n = map[string]int{}
	}
	s.n[connection]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.n[connection]--; s.n[connection] == 0 {
			delete(s.n, connection)
		}
	}, nil
}
