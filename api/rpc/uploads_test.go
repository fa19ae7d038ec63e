package rpc

import (
	"context"
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

// drip is an upload of which a piece arrives every now and then.
type drip struct {
	grpc.ServerStream
	ctx   context.Context
	every time.Duration
	sent  int
}

func (d *drip) Context() context.Context                   { return d.ctx }
func (d *drip) SendAndClose(*crusterv1.PushResponse) error { return nil }

func (d *drip) Recv() (*crusterv1.PushStreamRequest, error) {
	select {
	case <-time.After(d.every):
	case <-d.ctx.Done():
		return nil, d.ctx.Err()
	}
	if d.sent++; d.sent == 1 {
		return &crusterv1.PushStreamRequest{Part: &crusterv1.PushStreamRequest_Metadata{Metadata: &crusterv1.PushMetadata{Name: "m"}}}, nil
	}
	return &crusterv1.PushStreamRequest{Part: &crusterv1.PushStreamRequest_Chunk{Chunk: []byte("x")}}, nil
}

// TestUploadsThatStall: a caller that stops sending loses its place soon, and one
// that sends slowly but steadily loses it when the time for the whole upload ends.
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
				m := &moduleService{uploads: newUploads(clockwork.NewRealClock(), 1<<20, maxUploads, func() host.Permit { return budget.New(1 << 30).Empty() })}
				ctx, cancel := context.WithCancel(t.Context())
				begin := time.Now()
				err := m.PushStream(&drip{ctx: ctx, every: c.every})
				require.Equal(t, abi.CodeDeadline, abi.CodeOf(err), "%v", err)
				require.Equal(t, c.until, time.Since(begin))
				require.Empty(t, m.uploads.slots, "its place is free again")
				cancel()
				synctest.Wait()
			})
		})
	}
}
