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

// proxy stands between a store and the server. It cuts connections at the moment that matters, when a COMMIT passes,
// and it can fall silent: connections stay open, and nothing gets through them any more.
type proxy struct {
	dsn string
	// cut says what to do with the next COMMIT.
	cut atomic.Int32

	mu     sync.Mutex
	deaf   bool              // new connections are silent from the start; guarded by mu
	passed map[*passage]bool // the open connections; guarded by mu
}

// passage is one connection through a proxy.
type passage struct {
	client, server net.Conn
	mute           atomic.Bool // the client gets no more answers
	silent         atomic.Bool // nothing gets through, in either direction
}

// silence makes all open connections silent; later ones are as deaf says.
func (p *proxy) silence(deaf bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = deaf
	for c := range p.passed {
		c.silent.Store(true)
	}
}

// listen lets new connections through again.
func (p *proxy) listen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deaf = false
}

// admit registers a connection.
func (p *proxy) admit(client, server net.Conn) *passage {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &passage{client: client, server: server}
	c.silent.Store(p.deaf)
	if p.passed == nil {
		p.passed = map[*passage]bool{}
	}
	p.passed[c] = true
	return c
}

// close ends all connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.passed {
		_ = c.client.Close()
		_ = c.server.Close()
	}
}

const (
	letPass int32 = iota
	// loseAnswer lets the COMMIT through to the server and loses its answer.
	loseAnswer
	// loseRequest loses the COMMIT itself.
	loseRequest
	// loseClient lets the COMMIT through and loses the client at once: the server goes on without knowing.
	loseClient
)

// commitMark is in every message that executes the prepared COMMIT.
var commitMark = []byte("cruster_commit\x00")

// cancelRequest begins a connection whose only purpose is to cancel a statement of another: its length, and its code.
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
		p.close()
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
			c := p.admit(client, server)
			running.Go(func() { p.serve(c) })
		}
	})
	return p
}

// serve copies in both directions until one ends or the cut is due.
func (p *proxy) serve(c *passage) {
	client, server := c.client, c.server
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		c.answer()
	}()
	defer func() {
		_ = client.Close()
		_ = server.Close()
		<-answered
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.passed, c)
	}()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if c.silent.Load() {
			continue
		}
		if bytes.HasPrefix(buf[:n], cancelRequest) {
			return // a host that is cut off cannot cancel either
		}
		if bytes.Contains(buf[:n], commitMark) && isExecution(buf[:n]) {
			switch {
			case p.cut.CompareAndSwap(loseRequest, letPass):
				return
			case p.cut.CompareAndSwap(loseAnswer, letPass):
				c.mute.Store(true)
				_, _ = server.Write(buf[:n])
				<-answered
				return
			case p.cut.CompareAndSwap(loseClient, letPass):
				c.mute.Store(true)
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

// answer copies the server's output.
func (c *passage) answer() {
	defer c.client.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := c.server.Read(buf)
		if err != nil || c.mute.Load() {
			// The server's answer to the COMMIT ends here: it is done, and the client never gets
			// the answer.
			return
		}
		if c.silent.Load() {
			continue
		}
		if _, err := c.client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// isExecution tells the execution of statements from their preparation, whose messages begin with Parse.
func isExecution(message []byte) bool { return message[0] != 'P' }
