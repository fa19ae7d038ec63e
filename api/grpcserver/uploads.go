package grpcserver

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jonboulle/clockwork"
	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
)

const (
	// maxUploads bounds the modules that are held in memory while they arrive.
	maxUploads = 4
	// maxMessages bounds the uploads that arrive in one message, and messageTimeout how long one
	// may take.
	maxMessages    = 2
	messageTimeout = time.Minute
	// uploadTimeout is how long a module may take to arrive, and stallTimeout how long its next piece may, so that
	// callers who stall give their place to others.
	uploadTimeout = 5 * time.Minute
	stallTimeout  = 20 * time.Second
)

// uploads receives modules, a few at a time.
type uploads struct {
	clock   clockwork.Clock
	maxSize int64
	memory  func() host.Permit // of one upload
	slots   chan struct{}
	stall   time.Duration
}

func newUploads(clock clockwork.Clock, maxSize int64, places int, memory func() host.Permit) *uploads {
	return &uploads{
		clock: clock, maxSize: maxSize, memory: memory, slots: make(chan struct{}, places), stall: stallTimeout,
	}
}

// enter waits for a place among the uploads. The upload takes its memory out of the permit, which
// leave gives back.
func (u *uploads) enter(ctx context.Context) (memory host.Permit, leave func(), err error) {
	select {
	case u.slots <- struct{}{}:
		memory = u.memory()
		return memory, func() {
			memory.Release()
			<-u.slots
		}, nil
	case <-ctx.Done():
		return nil, nil, abi.Errorf(abi.CodeOverloaded, "%d uploads are under way already", cap(u.slots))
	}
}

// firstPiece is how much memory an upload has at least.
const firstPiece = 64 << 10

// add appends a piece to a binary. The memory for it is admitted before it is taken; twice as much as before, as append
// would.
func add(binary, piece []byte, memory host.Permit) ([]byte, error) {
	if need := len(binary) + len(piece); need > cap(binary) {
		larger := max(need, 2*cap(binary), firstPiece)
		if err := admit(memory, larger); err != nil {
			return nil, err
		}
		binary = append(make([]byte, 0, larger), binary...)
	}
	return append(binary, piece...), nil
}

// admit takes memory for a part of an upload.
func admit(memory host.Permit, bytes int) error {
	switch {
	case memory.Grow(int64(bytes)):
		return nil
	case memory.CouldGrow(int64(bytes)):
		return abi.Errorf(abi.CodeOverloaded, "the host has no memory left for the upload")
	default:
		return abi.Errorf(abi.CodeModuleTooLarge, "the upload takes more memory than the host has for uploads").
			WithHint("Leave debug information out (Go: -ldflags='-s -w', Rust: strip = true), or start the host with " +
				"a larger --memory.")
	}
}

// An uploadPart is a message of an upload: its metadata or a piece of its binary.
type uploadPart[Meta any] interface {
	GetMetadata() *Meta
	GetChunk() []byte
}

// An uploadStream is where the messages of an upload come from.
type uploadStream[Part any] interface{ Recv() (Part, error) }

// receive collects an upload. The stream's own reads cannot be given up, so they happen beside:
// when the time has passed, returning ends the stream and the read.
func receive[Meta any, Part uploadPart[Meta]](
	ctx context.Context, u *uploads, memory host.Permit, stream uploadStream[Part],
) (*Meta, []byte, error) {
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
		meta, binary, err := collect[Meta](u, memory, stream, func() {
			if stall.Stop() {
				stall.Reset(u.stall)
			}
		})
		done <- upload{meta, binary, err}
	}()
	late := func(limit time.Duration) error {
		return abi.Errorf(abi.CodeDeadline, "the module did not arrive within %v", limit).WithHint(
			"Push again over a faster connection.",
		)
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
func collect[Meta any, Part uploadPart[Meta]](
	u *uploads, memory host.Permit, stream uploadStream[Part], progress func(),
) (*Meta, []byte, error) {
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
		if binary, err = add(binary, part.GetChunk(), memory); err != nil {
			return nil, nil, err
		}
		progress()
	}
}

// receiveMessage reads an upload that is one message. As in receive, a read that takes too long ends with the stream.
func receiveMessage(u *uploads, stream grpc.ServerStream) (*crusterv1.PushModuleRequest, error) {
	req, done := new(crusterv1.PushModuleRequest), make(chan error, 1)
	go func() { done <- stream.RecvMsg(req) }()
	late := make(chan struct{})
	timer := u.clock.AfterFunc(messageTimeout, func() { close(late) })
	defer timer.Stop()
	select {
	case err := <-done:
		if err != nil {
			return nil, err
		}
	case <-late:
		return nil, abi.Errorf(abi.CodeDeadline, "the module did not arrive within %v", messageTimeout).WithHint(
			"Push it in pieces with PushStream, or over a faster connection.",
		)
	}
	if int64(len(req.GetBinary())) > u.maxSize {
		return nil, u.tooLarge()
	}
	return req, nil
}

func (u *uploads) tooLarge() error {
	return abi.Errorf(abi.CodeModuleTooLarge, "the module has more than %d bytes", u.maxSize)
}
