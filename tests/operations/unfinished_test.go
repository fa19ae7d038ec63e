package ops_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// unfinished is a message whose last byte never comes.
type unfinished struct {
	io.Reader
	sent chan<- struct{} // told when all others were taken
	end  context.Context
}

func (u *unfinished) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	if err == nil {
		return n, nil
	}
	select {
	case u.sent <- struct{}{}:
	case <-u.end.Done():
	}
	<-u.end.Done()
	return 0, u.end.Err()
}

// TestUnfinishedMessagesDoNotFillTheHost: many callers send as much of a message of 16 MiB as the host takes, and do
// not finish it. It refuses callers that it has no memory for, and goes on.
func TestUnfinishedMessagesDoNotFillTheHost(t *testing.T) {
	t.Parallel()
	const callers, length, machine = 120, 16 * mib, 1024 * mib
	group := harness.MemoryGroup(t, machine)
	args := []string{}
	if group == "" {
		args = append(args, "--memory", "512MiB")
	}
	p := harness.NewProcess(t, "sqlite:"+t.TempDir(), args...)
	p.Confine(group)
	p.Start()

	ctx, cancel := context.WithCancel(t.Context())
	sent, refused := make(chan struct{}), make(chan string, callers)
	var all sync.WaitGroup
	message := append(binary.BigEndian.AppendUint32([]byte{0}, length), make([]byte, length-1)...)
	for range callers {
		all.Go(func() {
			transport := &http.Transport{Protocols: new(http.Protocols)}
			transport.Protocols.SetUnencryptedHTTP2(true)
			defer transport.CloseIdleConnections()
			req, err := http.NewRequestWithContext(
				ctx, http.MethodPost, "http://"+p.GRPC+crusterv1.WorkflowService_StartExecution_FullMethodName,
				&unfinished{bytes.NewReader(message), sent, ctx},
			)
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/grpc")
			resp, err := transport.RoundTrip(req)
			if err != nil {
				refused <- err.Error()
				return
			}
			refused <- resp.Header.Get("Grpc-Status")
			_ = resp.Body.Close()
		})
	}
	kept := 0
	for range callers {
		select {
		case <-sent:
			kept++
		case code := <-refused:
			require.Equal(t, "8", code, "the code of gRPC for an exhausted resource")
		}
	}
	t.Logf("%d messages are unfinished, the host has %d MiB at most", kept, p.PeakMemory()/mib)
	require.Less(t, kept, callers/2)
	c, err := client.Dial(p.GRPC, client.WithRetryFor(0))
	require.NoError(t, err)
	_, err = c.Deployments().ListDeployments(t.Context(), &crusterv1.ListDeploymentsRequest{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
	cancel()
	all.Wait()
	require.Less(t, p.PeakMemory(), int64(machine))
}
