package crustertest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/crustertest"
)

// fetch is how code calls that knows nothing of Cruster.
func fetch(url string) (string, error) {
	res, err := http.Post(url, "text/plain", strings.NewReader("hello")) //nolint:noctx // see above
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// inGoroutine calls it from a goroutine that it starts.
func inGoroutine(url string) (body string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		body, err = fetch(url)
	}()
	<-done
	return body, err
}

var fetching = cruster.NewActivity(
	"sandboxFetch", func(_ *cruster.ActivityContext, url string) (string, error) { return inGoroutine(url) },
	cruster.Retries(3),
)

var asking = cruster.NewActivity("sandboxAsk", func(ctx *cruster.ActivityContext, url string) (string, error) {
	res, err := ctx.HTTP().Get(url)
	return string(res.Body), err
})

var sandboxed = cruster.NewWorkflow("sandboxed", func(ctx cruster.Context, r sandboxRequest) (string, error) {
	switch r.Where {
	case "activity":
		return fetching.Call(ctx, r.URL)
	case "handler":
		return asking.Call(ctx, r.URL)
	}
	return fetch(r.URL)
})

type sandboxRequest struct{ Where, URL string }

var kiosk = cruster.NewRPC(
	cruster.NewEntity("SandboxKiosk"), "fetch",
	func(_ *cruster.RPCContext, url string) (string, error) { return fetch(url) },
)

// Code that runs in a module on a host has no network, as there. The test itself, its stubs and its handlers have it.
func TestNoNetwork(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()

	const refused = "dial tcp: a module that does not import stdhttp has no network of its own"
	var h crustertest.History
	_, err := crustertest.Run(t, sandboxed, sandboxRequest{"activity", server.URL}, crustertest.Record(&h))
	require.EqualError(t, err, `CR-2006: CR-3301: Post "`+server.URL+`": `+refused)
	var failed *cruster.Error
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Hint, "stdhttp.Client(ctx)")
	for _, e := range h.Events {
		require.NotEqual(t, crustertest.Retried, e.Type, "it would fail again")
	}

	_, err = crustertest.Run(t, sandboxed, sandboxRequest{"here", server.URL})
	require.EqualError(t, err, `CR-3301: Post "`+server.URL+`": `+refused)
	require.ErrorAs(t, err, &failed)
	require.Contains(t, failed.Hint, "do this in an activity")
	_, err = crustertest.Call(crustertest.NewEntities(t), kiosk, "a", server.URL)
	require.EqualError(t, err, `CR-3301: Post "`+server.URL+`": `+refused)
	require.Zero(t, reached.Load())

	got, err := fetch(server.URL)
	require.NoError(t, err)
	require.Equal(t, "hello", got, "the test itself")

	got, err = crustertest.Run(t, sandboxed, sandboxRequest{"activity", server.URL},
		crustertest.Stub(fetching, func(_ *cruster.ActivityContext, url string) (string, error) {
			return inGoroutine(url)
		}))
	require.NoError(t, err)
	require.Equal(t, "hello", got, "a stub")

	got, err = crustertest.Run(t, sandboxed, sandboxRequest{"handler", "http://example.com/"},
		crustertest.HandleHTTP(func(cruster.HTTPRequest) (cruster.HTTPResponse, error) {
			body, err := inGoroutine(server.URL)
			return cruster.HTTPResponse{Status: 200, Body: []byte(body)}, err
		}))
	require.NoError(t, err)
	require.Equal(t, "hello", got, "a handler")
}

// remoteDB is a database that is reached by HTTP.
type remoteDB struct {
	url string
	did []string
}

func (d *remoteDB) ask(what string) error {
	got, err := fetch(d.url)
	d.did = append(d.did, what+" "+got)
	return err
}

func (d *remoteDB) Begin() (crustertest.Transaction, error)   { return d, d.ask("begin") }
func (d *remoteDB) Exec(query string, _ []any) (int64, error) { return 1, d.ask(query) }
func (d *remoteDB) Commit() error                             { return d.ask("commit") }
func (d *remoteDB) Rollback() error                           { return d.ask("rollback") }
func (d *remoteDB) Query(query string, _ []any) ([]string, [][]any, error) {
	if query == "SELECT nothing" {
		panic("no rows today") // line: database
	}
	return []string{"n"}, [][]any{{1}}, d.ask(query)
}

var storing = cruster.NewActivity("sandboxStore", func(ctx *cruster.ActivityContext, query string) (int, error) {
	tx := ctx.Tx()
	if _, err := tx.Exec("INSERT"); err != nil {
		return 0, err
	}
	if err := tx.Rollback(); err != nil {
		return 0, err
	}
	return cruster.QueryRow[int](tx, query)
})

var stores = cruster.NewWorkflow("sandboxStores", func(ctx cruster.Context, query string) (int, error) {
	return storing.Call(ctx, query)
})

// A database of the test has the network, too, and may end the test.
func TestNetworkOfDatabase(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(w, r.Body)
	}))
	defer server.Close()
	db := &remoteDB{url: server.URL}
	got, err := crustertest.Run(t, stores, "SELECT", crustertest.UseDatabase(db))
	require.NoError(t, err)
	require.Equal(t, 1, got)
	require.Equal(
		t, []string{"begin hello", "INSERT hello", "rollback hello", "begin hello", "SELECT hello", "commit hello"},
		db.did,
	)

	_, err = crustertest.Run(t, stores, "SELECT nothing", crustertest.UseDatabase(db))
	require.ErrorContains(t, err, "no rows today (in ")
	require.ErrorContains(t, err, lineOf(t, "sandbox_test.go", "database"))
}

// An activity has none either if the test is in a bubble of its own.
func TestNoNetworkInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, err := crustertest.Run(t, sandboxed, sandboxRequest{"activity", "http://localhost:1/"})
		require.ErrorContains(t, err, "CR-3301: ")
	})
}
