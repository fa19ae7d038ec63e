package rpc

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
)

const (
	// maxUploads bounds the modules that are held in memory while they arrive.
	maxUploads = 4
	// uploadTimeout is how long a module may take to arrive, and stallTimeout how
	// long its next piece may, so that callers who stall give their place to others.
	uploadTimeout = 5 * time.Minute
	stallTimeout  = 20 * time.Second
)

// uploads receives modules, a few at a time.
type uploads struct {
	clock   clockwork.Clock
	maxSize int64
	slots   chan struct{}
	stall   time.Duration
}

func newUploads(clock clockwork.Clock, maxSize int64, places int) *uploads {
	return &uploads{clock: clock, maxSize: maxSize, slots: make(chan struct{}, places), stall: stallTimeout}
}

// enter waits for a place among the uploads.
func (u *uploads) enter(ctx context.Context) (leave func(), err error) {
	select {
	case u.slots <- struct{}{}:
		return func() { <-u.slots }, nil
	case <-ctx.Done():
		return nil, abi.Errorf(abi.CodeOverloaded, "%d uploads are under way already", cap(u.slots))
	}
}

// An uploadPart is a message of an upload: its metadata or a piece of its binary.
type uploadPart[Meta any] interface {
	GetMetadata() *Meta
	GetChunk() []byte
}

// An uploadStream is where the messages of an upload come from.
type uploadStream[Part any] interface{ Recv() (Part, error) }

// receive collects an upload. The stream's own reads cannot be given up, so they
// happen beside: when the time is over, returning ends the stream and the read.
func receive[Meta any, Part uploadPart[Meta]](ctx context.Context, u *uploads, stream uploadStream[Part]) (*Meta, []byte, error) {
	type upload struct {
		meta   *Meta
		binary []byte
		err    error
	}
	done := make(chan upload, 1)
	stalled := make(chan struct{})
	stall := u.clock.AfterFunc(u.stall, func() { close(stalled) })
	defer stall.Stop()
	go func() {
		// Once it has fired it is too late: Reset would close stalled twice.
		meta, binary, err := collect[Meta](u, stream, func() {
			if stall.Stop() {
				stall.Reset(u.stall)
			}
		})
		done <- upload{meta, binary, err}
	}()
	late := func(limit time.Duration) error {
		return abi.Errorf(abi.CodeDeadline, "the module did not arrive within %v", limit).WithHint("Push again over a faster connection.")
	}
	select {
	case got := <-done:
		return got.meta, got.binary, got.err
	case <-stalled:
		return nil, nil, late(u.stall)
	case <-ctx.Done():
		return nil, nil, late(uploadTimeout)
	}
}

// collect reads the pieces of an upload; progress is called after each.
func collect[Meta any, Part uploadPart[Meta]](u *uploads, stream uploadStream[Part], progress func()) (*Meta, []byte, error) {
	first, err := stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	meta := first.GetMetadata()
	if meta == nil {
		return nil, nil, abi.Errorf(abi.CodeBadRequest, "the first message of an upload must carry its metadata")
	}
	var binary []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return meta, binary, nil
		}
		if err != nil {
			return nil, nil, err
		}
		if part.GetMetadata() != nil {
			return nil, nil, abi.Errorf(abi.CodeBadRequest, "only the first message of an upload may carry metadata")
		}
		if int64(len(binary)+len(part.GetChunk())) > u.maxSize {
			return nil, nil, u.tooLarge()
		}
		binary = append(binary, part.GetChunk()...)
		progress()
	}
}

func (u *uploads) tooLarge() error {
	return abi.Errorf(abi.CodeModuleTooLarge, "the module has more than %d bytes", u.maxSize)
}
