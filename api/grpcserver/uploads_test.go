package grpcserver

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/budget"
)

// drip is an upload with a piece arriving every now and then.
type drip struct {
	grpc.ServerStream
	ctx   context.Context
	every time.Duration
	sent  int
}

func (d *drip) Context() context.Context                           { return d.ctx }
func (d *drip) SendAndClose(*crusterv1.UploadModuleResponse) error { return nil }

func (d *drip) Recv() (*crusterv1.UploadModuleRequest, error) {
	select {
	case <-time.After(d.every):
	case <-d.ctx.Done():
		return nil, d.ctx.Err()
	}
	if d.sent++; d.sent == 1 {
		return &crusterv1.UploadModuleRequest{
			Part: &crusterv1.UploadModuleRequest_Metadata{Metadata: &crusterv1.PushMetadata{Name: "m"}},
		}, nil
	}
	return &crusterv1.UploadModuleRequest{Part: &crusterv1.UploadModuleRequest_Chunk{Chunk: []byte("x")}}, nil
}

// TestUploadsThatStall: a caller that stops sending loses its place soon, and a slow but steady
// caller loses it when the time for the whole upload ends.
func TestUploadsThatStall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ every, until time.Duration }{
		"silent": {time.Hour, stallTimeout},
		"slow":   {2 * stallTimeout, stallTimeout},
		"steady": {stallTimeout / 3, uploadTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &deploymentService{
					uploads: newUploads(clockwork.NewRealClock(), 1<<20, maxUploads, func() host.Permit {
						return budget.New(1 << 30).Empty()
					}),
				}
				ctx, cancel := context.WithCancel(t.Context())
				begin := time.Now()
				err := m.UploadModule(&drip{ctx: ctx, every: c.every})
				require.Equal(t, abi.CodeDeadline, abi.CodeOf(err), "%v", err)
				require.Equal(t, c.until, time.Since(begin))
				require.Empty(t, m.uploads.slots, "its place is free again")
				cancel()
				synctest.Wait()
			})
		})
	}
}

// message is an upload in one message, which has arrived when it is asked for.
type message struct {
	grpc.ServerStream
	ctx  context.Context
	read atomic.Bool
}

func (m *message) Context() context.Context { return m.ctx }
func (m *message) SendMsg(any) error        { return nil }

func (m *message) RecvMsg(into any) error {
	m.read.Store(true)
	into.(*crusterv1.PushModuleRequest).Metadata = &crusterv1.PushMetadata{Name: "m"}
	return nil
}

// busy is an engine that deploys modules when it is told to go on.
type busy struct {
	Deployments
	proceed chan struct{}
}

func (b busy) Push(context.Context, host.PushRequest) (*host.DeploymentInfo, error) {
	<-b.proceed
	return &host.DeploymentInfo{}, nil
}

// TestMessagesAreReadOnePlaceAtATime: a module that is pushed in one message is not read before
// there is a place for it, so that waiting callers hold no memory.
func TestMessagesAreReadOnePlaceAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		m := &deploymentService{
			engine: &Engine{Deployments: busy{proceed: proceed}},
			messages: newUploads(clockwork.NewRealClock(), 1<<20, maxMessages, func() host.Permit {
				return budget.New(1 << 30).Empty()
			}),
		}
		var pushes [maxMessages + 10]message
		read := func() (n int) {
			for i := range pushes {
				if pushes[i].read.Load() {
					n++
				}
			}
			return n
		}
		for i := range pushes {
			pushes[i].ctx = t.Context()
			go func() {
				if err := m.pushMessage(&pushes[i]); err != nil {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		require.Equal(t, maxMessages, read())
		close(proceed)
		synctest.Wait()
		require.Equal(t, len(pushes), read())
		require.Empty(t, m.messages.slots)
	})
}

// TestMessagesThatStall: a module in one message that does not arrive loses its place.
func TestMessagesThatStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &deploymentService{
			messages: newUploads(clockwork.NewRealClock(), 1<<20, maxMessages, func() host.Permit {
				return budget.New(1 << 30).Empty()
			}),
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin := time.Now()
		err := m.pushMessage(&silent{ctx: ctx})
		require.Equal(t, abi.CodeDeadline, abi.CodeOf(err), "%v", err)
		require.Equal(t, messageTimeout, time.Since(begin))
		require.Empty(t, m.messages.slots, "its place is free again")
		cancel()
		synctest.Wait()
	})
}

// silent is an upload that sends nothing.
type silent struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *silent) Context() context.Context { return s.ctx }

func (s *silent) RecvMsg(any) error {
	<-s.ctx.Done()
	return s.ctx.Err()
}
