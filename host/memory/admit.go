package memory

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Permit is a part of the memory of the host, at first of no bytes: see host/budget.
type Permit interface {
	// Grow makes it larger, before that much is taken; false says that there is no room.
	Grow(bytes int64) bool
	// CouldGrow tells whether there would be room if nothing else took any.
	CouldGrow(bytes int64) bool
	// Release gives all of it back.
	Release()
}

// UploadMemory returns the permit for the memory of one upload. The memory for compiling it is not
// part of it.
func (s *Shares) UploadMemory() Permit { return s.Queued.Empty() }

// connectionCost is the memory of a connection beside its calls, as BenchmarkConnection of
// api/grpcserver measures it: the buffers of the transport for either direction, its goroutines,
// and the tables of its headers.
const connectionCost = 64 << 10

// AdmitConnection takes memory for a connection, if there is some.
func (s *Shares) AdmitConnection() (release func(), ok bool) {
	permit, ok := s.Connections.TryAcquire(connectionCost)
	return permit.Release, ok
}

// AdmitRequest takes memory for a call or its message, if there is some. A message that would need
// more than half of the memory for requests has that half.
func (s *Shares) AdmitRequest(bytes int64) (release func(), ok bool) {
	permit := s.Requests.Empty()
	return permit.Release, permit.Grow(min(bytes, s.Requests.Total()/2))
}

// AdmitAnswer waits for the memory of an answer. An answer larger than the share of answers takes all of the share.
func (s *Shares) AdmitAnswer(ctx context.Context, bytes int64) (AnswerPermit, error) {
	permit, err := s.Answers.Acquire(ctx, min(bytes, s.Answers.Total()))
	if err != nil {
		return nil, journal.Coded("wait for memory for the answer", err)
	}
	return permit, nil
}

// AnswerPermit is the memory of an answer.
type AnswerPermit = interface {
	// ShrinkTo gives back all but so much.
	ShrinkTo(bytes int64)
	// Release gives all of it back.
	Release()
}
