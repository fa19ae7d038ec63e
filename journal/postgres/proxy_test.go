package postgres_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/pgtest"
)

// proxy stands between a store and the server and cuts connections at the
// moment that matters: when a COMMIT passes.
type proxy struct {
	dsn string
	// cut says what to do with the next COMMIT.
	cut atomic.Int32
}

const (
	letPass int32 = iota
	// loseAnswer lets the COMMIT through to the server and loses its answer.
	loseAnswer
	// loseRequest loses the COMMIT itself.
	loseRequest
	// loseClient lets the COMMIT through and loses the client at once: the
	// server goes on without knowing.
	loseClient
)

// commitMark is in every message that executes the prepared COMMIT.
var commitMark = []byte("cruster_commit\x00")

// cancelRequest begins a connection whose only purpose is to cancel a statement
// of another: its length, and its code.
var cancelRequest = []byte{0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e}

func newProxy(t *testing.T) *proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(pgtest.DSN(t))
	require.NoError(t, err)
	network, address := pgconn.NetworkAddress(config.Host, config.Port)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: listener.Addr().String(),
		Path: "/" + config.Database, RawQuery: "sslmode=disable",
	}
	p := &proxy{dsn: u.String()}
	var running sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial(network, address)
			if err != nil {
				_ = client.Close()
				continue
			}
			running.Go(func() { p.serve(client, server) })
		}
	})
	return p
}

// serve copies in both directions until one ends or the cut is due.
func (p *proxy) serve(client, server net.Conn) {
	var mute atomic.Bool
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil || mute.Load() {
				// What the server said to the COMMIT ends here: it is done, and
				// the client never gets the answer.
				return
			}
			if _, err := client.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	defer func() {
		_ = client.Close()
		_ = server.Close()
		<-answered
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.HasPrefix(buf[:n], cancelRequest) {
			return // a host that is cut off cannot cancel either
		}
		if bytes.Contains(buf[:n], commitMark) && isExecution(buf[:n]) {
			switch {
			case p.cut.CompareAndSwap(loseRequest, letPass):
				return
			case p.cut.CompareAndSwap(loseAnswer, letPass):
				mute.Store(true)
				_, _ = server.Write(buf[:n])
				<-answered
				return
			case p.cut.CompareAndSwap(loseClient, letPass):
				mute.Store(true)
				_, _ = server.Write(buf[:n])
				_ = client.Close()
				<-answered
				return
			}
		}
		if _, err := io.Copy(server, bytes.NewReader(buf[:n])); err != nil {
			return
		}
	}
}

// isExecution tells the execution of statements from their preparation, whose
// messages begin with Parse.
func isExecution(message []byte) bool { return message[0] != 'P' }
