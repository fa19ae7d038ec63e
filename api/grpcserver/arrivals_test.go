package grpcserver

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host/budget"
)

// requestBudget is the memory of a host for requests.
type requestBudget struct{ *budget.Budget }

func (b requestBudget) AdmitRequest(bytes int64) (func(), bool) {
	permit := b.Empty()
	return permit.Release, permit.Grow(bytes)
}

// counted is a connection of a host whose caller speaks in frames, and the host's side of it.
type counted struct {
	*countedConn
	t      *testing.T
	budget *budget.Budget
	caller net.Conn
	frames *http2.Framer // of the caller
	host   *http2.Framer
}

func newCounted(t *testing.T, bytes int64) *counted {
	t.Helper()
	near, far := net.Pipe()
	b := budget.New(bytes)
	a := &arrivals{max: 1 << 20, memory: requestBudget{b}}
	c := &counted{
		countedConn: &countedConn{Conn: far, arrivals: a, calls: map[uint32]*arrival{}}, t: t, budget: b, caller: near,
		frames: http2.NewFramer(near, nil),
	}
	c.in.skip = len(clientPreface)
	c.host = http2.NewFramer(c.countedConn, c.countedConn)
	t.Cleanup(func() {
		require.NoError(t, c.Close())
		require.Zero(t, b.Used(), "all of it is given back with the connection")
	})
	go func() { _, _ = io.WriteString(near, clientPreface) }()
	_, err := io.ReadFull(c.countedConn, make([]byte, len(clientPreface)))
	require.NoError(t, err)
	return c
}

// send has the caller send something, and the host read it.
func (c *counted) send(write func(f *http2.Framer) error) http2.Frame {
	c.t.Helper()
	sent := make(chan error, 1)
	go func() { sent <- write(c.frames) }()
	f, err := c.host.ReadFrame()
	require.NoError(c.t, err)
	require.NoError(c.t, <-sent)
	return f
}

func (c *counted) open(stream uint32) {
	c.t.Helper()
	c.send(func(f *http2.Framer) error {
		return f.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: []byte("x"), EndHeaders: true})
	})
}

func (c *counted) data(stream uint32, data []byte) []byte {
	c.t.Helper()
	f := c.send(func(f *http2.Framer) error { return f.WriteData(stream, false, data) })
	return f.(*http2.DataFrame).Data()
}

func prefixOf(length int) []byte { return binary.BigEndian.AppendUint32([]byte{0}, uint32(length)) }

// TestMessagesPayBeforeTheyArrive: a message takes its memory when its length is known, and
// gives it back when its call is over.
func TestMessagesPayBeforeTheyArrive(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 1<<20)
	c.open(1)
	require.EqualValues(t, callCost, c.budget.Used())
	c.data(1, append(prefixOf(10), make([]byte, 10)...))
	require.EqualValues(t, callCost, c.budget.Used(), "a small message is a part of its call")
	c.data(1, prefixOf(100_000)[:3])
	c.data(1, prefixOf(100_000)[3:])
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "before it is there")
	for range 10 {
		c.data(1, make([]byte, 10_000))
	}
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "the call has it")
	c.open(3)
	c.data(3, prefixOf(50_000))
	require.EqualValues(t, 2*callCost+messageCopies*150_000, c.budget.Used())
	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(3, http2.ErrCodeCancel) })
	require.EqualValues(t, callCost+messageCopies*100_000, c.budget.Used(), "the caller gave it up")

	go func() { _, _ = io.Copy(io.Discard, c.caller) }()
	require.NoError(t, c.host.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("x"), EndHeaders: true}))
	require.NotZero(t, c.budget.Used(), "that was the begin of its answer")
	require.NoError(t, c.host.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte("x"), EndHeaders: true, EndStream: true}))
	require.Zero(t, c.budget.Used())
}

// TestMessagesWithoutMemoryAreRefused: a message that there is no memory for is refused by its
// length. One that cannot be refused any more ends its connection.
func TestMessagesWithoutMemoryAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t, 600_000)
		c.open(1)
		c.data(1, prefixOf(250_000))
		c.open(3)
		refused := c.data(3, append(prefixOf(100_000), 1, 2, 3))
		require.Equal(t, uint32(rpcerror.RefusedLength), binary.BigEndian.Uint32(refused[1:]))
		require.Equal(t, []byte{1, 2, 3}, refused[5:])
		c.data(3, make([]byte, 1000))
		require.EqualValues(t, 2*callCost+messageCopies*250_000, c.budget.Used())

		c.data(3, nil)
		c.open(5)
		c.data(5, prefixOf(100_000)[:2])
		go func() { _ = c.frames.WriteData(5, false, prefixOf(100_000)[2:]) }()
		_, err := c.host.ReadFrame()
		require.ErrorIs(t, err, errMessageRefused)
		require.NoError(t, c.caller.Close())
	})
}

// TestUnfinishedMessagesEnd: a message that does not come to its end gives its memory back, with its
// connection.
func TestUnfinishedMessagesEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t, 1<<20)
		c.open(1)
		c.data(1, append(prefixOf(100_000), 1))
		_, err := c.caller.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF, "the host has closed it")
		require.Zero(t, c.budget.Used())
	})
}

// TestCallsBeyondTheMemoryAreRefused: calls are begun until there is no memory for more.
func TestCallsBeyondTheMemoryAreRefused(t *testing.T) {
	t.Parallel()
	c := newCounted(t, 3*callCost)
	for stream := uint32(1); stream <= 5; stream += 2 {
		c.open(stream)
	}
	_, err := c.arrivals.tap(t.Context(), nil)
	require.NoError(t, err)
	c.open(7)
	_, err = c.arrivals.tap(t.Context(), nil)
	require.Error(t, err)
	delay, ok := rpcerror.RetryDelay(err)
	require.True(t, ok)
	require.Equal(t, refusedFor, delay)
	c.send(func(f *http2.Framer) error { return f.WriteRSTStream(7, http2.ErrCodeCancel) })
	_, err = c.arrivals.tap(t.Context(), nil)
	require.NoError(t, err)
}

// TestFramesInPieces: however a connection is cut into pieces, the same frames and data are
// found.
func TestFramesInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sent writer
		framer := http2.NewFramer(&sent, nil)
		want := ""
		for range rapid.IntRange(1, 10).Draw(t, "frames") {
			stream := 2*rapid.Uint32Range(0, 3).Draw(t, "stream") + 1
			body := rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "body")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				require.NoError(t, framer.WriteData(stream, false, body))
				want += string(body)
			case 1:
				require.NoError(t, framer.WriteDataPadded(stream, false, body, make([]byte, rapid.IntRange(0, 9).Draw(t, "padding"))))
				want += string(body)
			case 2:
				require.NoError(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: body, EndHeaders: true}))
				want += "h"
			default:
				require.NoError(t, framer.WriteRSTStream(stream, http2.ErrCodeCancel))
				want += "r"
			}
		}
		got, f := "", frames{}
		for rest := []byte(sent); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			require.NoError(t, f.scan(rest[:n], func(f frame) {
				got += map[byte]string{frameHeaders: "h", frameReset: "r"}[f.kind]
			}, func(_ uint32, piece []byte) error {
				got += string(piece)
				return nil
			}))
			rest = rest[n:]
		}
		require.Equal(t, want, got)
	})
}

// writer keeps what is written.
type writer []byte

func (w *writer) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}
