package grpcserver_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/cruster/cruster/api/grpcserver"
)

// BenchmarkConnection measures the host's memory for an open connection: live heap and stacks,
// after a handshake, after a call, and after a frame that is as large as frames are. The clients
// are of the same process and cost about 1 KiB each.
func BenchmarkConnection(b *testing.B) {
	for _, c := range []struct {
		name    string
		payload int
		call    bool
	}{{"idle", 0, false}, {"after-a-call", 0, true}, {"after-a-call-and-a-large-frame", 16 << 10, true}} {
		b.Run(c.name, func(b *testing.B) {
			server, err := grpcserver.New(grpcserver.Config{
				Engine: (&fakeEngine{}).rooms(), Logger: slog.New(slog.DiscardHandler), MaxConnections: 1 << 20,
			})
			require.NoError(b, err)
			listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
			require.NoError(b, err)
			served := make(chan error, 1)
			go func() { served <- server.Serve(listener) }()
			conns := make([]net.Conn, 0, b.N)
			heap, stack := inUse()
			for range b.N {
				conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", listener.Addr().String())
				require.NoError(b, err)
				conns = append(conns, conn)
				shakeHands(b, conn, c.payload, c.call)
			}
			heapNow, stackNow := inUse()
			b.ReportMetric(float64(heapNow-heap)/float64(b.N), "heap-B/conn")
			b.ReportMetric(float64(stackNow-stack)/float64(b.N), "stack-B/conn")
			for _, conn := range conns {
				require.NoError(b, conn.Close())
			}
			server.Shutdown(context.Background())
			require.NoError(b, <-served)
		})
	}
}

// shakeHands opens a connection of HTTP/2. It makes a call that fails, and sends the host a frame of that size which it
// ignores.
func shakeHands(b *testing.B, conn net.Conn, payload int, call bool) {
	b.Helper()
	_, err := io.WriteString(conn, http2.ClientPreface)
	require.NoError(b, err)
	f := http2.NewFramer(conn, conn)
	require.NoError(b, f.WriteSettings())
	if call {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, field := range [][2]string{
			{":method", "POST"},
			{":scheme", "http"},
			{":path", "/cruster.v1.WorkflowService/None"},
			{":authority", "test"},
			{"content-type", "application/grpc"},
			{"te", "trailers"},
		} {
			require.NoError(b, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
		}
		require.NoError(
			b,
			f.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
			}),
		)
	}
	if payload > 0 {
		require.NoError(b, f.WriteRawFrame(0xfe, 0, 0, make([]byte, payload)))
	}
	require.NoError(b, f.WritePing(false, [8]byte{1}))
	for {
		frame, err := f.ReadFrame()
		require.NoError(b, err)
		if ping, is := frame.(*http2.PingFrame); is && ping.IsAck() {
			return
		}
	}
}

// inUse is the live heap and the stacks of the process.
func inUse() (heap, stack int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}
