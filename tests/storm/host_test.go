package storm_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

// patience bounds the waits of a storm in full, on a slow machine.
const patience = 30 * time.Minute

// store is where hosts of a test keep their data.
type store struct {
	address string
	args    []string
}

func onEachStore(t *testing.T, test func(t *testing.T, at store)) {
	for _, kind := range harness.StoreKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, storeOf(t, kind))
		})
	}
}

func storeOf(t *testing.T, kind string) store {
	if kind == "sqlite" {
		return store{address: "sqlite:" + t.TempDir()}
	}
	return store{pgtest.DSN(t), []string{"--schema", pgtest.Schema(t)}}
}

// host is a host that runs, with a client of it.
type host struct {
	t       *testing.T
	process *harness.Process
	client  *client.Client
	began   time.Time
}

func (s store) host(t *testing.T, args ...string) *host {
	t.Helper()
	h := s.prepared(t, args...)
	h.start()
	return h
}

// prepared is a host that is not started.
func (s store) prepared(t *testing.T, args ...string) *host {
	t.Helper()
	return &host{t: t, process: harness.NewProcess(t, s.address, append(args, s.args...)...)}
}

func (h *host) start() {
	h.t.Helper()
	h.process.Start()
	h.client, h.began = h.as(h.t, ""), time.Now()
}

// as is a client of a tenant; of the default one if the name is empty.
func (h *host) as(t *testing.T, namespace string) *client.Client {
	t.Helper()
	options := []client.Option{client.WithRetryFor(patience)}
	if namespace != "" {
		options = append(options, client.WithNamespace(namespace))
	}
	c, err := client.Dial(h.process.GRPC, options...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *host) kill() { h.process.Kill() }

func (h *host) push(folder string, g *gate) {
	h.t.Helper()
	req := client.PushRequest{Name: "storm", Binary: harness.Module(h.t, folder)}
	if g != nil {
		req.Config, req.AllowHTTP = map[string]string{"gate": g.url}, []string{strings.TrimPrefix(g.url, "http://")}
	}
	_, err := h.client.Push(h.t.Context(), req)
	require.NoError(h.t, err)
}

// startAll starts the executions from one number up to another, many at the same time.
func (h *host) startAll(workflow string, from, to int, input func(i int) any) {
	h.t.Helper()
	h.each(to-from, func(key string) error {
		i, err := strconv.Atoi(key)
		if err != nil {
			return err
		}
		_, err = client.Workflow[any, any](h.client, workflow).WithKeyRaw(text(from+i)).Start(
			h.t.Context(), input(from+i),
		)
		return err
	})
}

// each does something for the keys from 0 on, for many at the same time.
func (h *host) each(n int, do func(key string) error) {
	h.t.Helper()
	const callers = 64
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make(chan error, callers)
	for range callers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if err := do(text(i)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		require.NoError(h.t, err)
	}
}

// awaitAll waits until all executions of a workflow are completed.
func (h *host) awaitAll(workflow string, n int) {
	h.t.Helper()
	h.await(workflow, client.Completed, n)
	h.t.Logf(
		"%d of %s are completed %v after the host was ready", n, workflow, time.Since(h.began).Round(time.Millisecond),
	)
}

// awaitRunning waits until that many executions of a workflow have begun.
func (h *host) awaitRunning(workflow string, n int) {
	h.t.Helper()
	h.await(workflow, client.Running, n)
}

func (h *host) await(workflow string, state client.State, n int) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	for count := -1; count != n; {
		asked := time.Now()
		count = h.count(ctx, workflow, state)
		require.Zero(h.t, h.count(ctx, workflow, client.Failed), workflow)
		require.Zero(h.t, h.count(ctx, workflow, client.Paused), workflow)
		// Before the next questions to the other process, so long that it has time for its work: to count thousands is
		// work, too.
		time.Sleep(50*time.Millisecond + 10*time.Since(asked))
	}
}

var wireStates = map[client.State]crusterv1.State{
	client.Running: crusterv1.State_STATE_RUNNING, client.Paused: crusterv1.State_STATE_PAUSED,
	client.Completed: crusterv1.State_STATE_COMPLETED, client.Failed: crusterv1.State_STATE_FAILED,
}

func (h *host) count(ctx context.Context, workflow string, state client.State) (n int) {
	h.t.Helper()
	req := &crusterv1.ListExecutionsRequest{Workflow: workflow, State: wireStates[state], PageSize: 1000}
	for {
		page, err := h.client.Workflows().ListExecutions(ctx, req)
		require.NoError(h.t, err, "%s has %d that are %s", workflow, n, state)
		n += len(page.GetExecutions())
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return n
		}
	}
}

// requireMemory checks how much memory the process had at most.
func (h *host) requireMemory(limit int64) {
	h.t.Helper()
	peak := h.process.PeakMemory()
	h.t.Logf("the host had %d MiB at most; it may have %d", peak/mib, limit/mib)
	require.LessOrEqual(h.t, peak, limit)
}

// awaitMetric waits until a metric of the host has a value.
func (h *host) awaitMetric(name string, value int64) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); h.process.Metric(name) != value; {
		require.True(h.t, time.Now().Before(deadline), name)
		time.Sleep(50 * time.Millisecond) // before the next question to the other process
	}
}

func bytesOf(n int64) string { return strconv.FormatInt(n/mib, 10) + "MiB" }

func text(n int) string { return strconv.Itoa(n) }

// gate is a server that answers nothing before it is opened.
type gate struct {
	url     string
	opened  chan struct{}
	arrived atomic.Int64
	count   atomic.Int64
}

func startGate(t *testing.T) *gate {
	g := &gate{opened: make(chan struct{})}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	g.url = server.URL
	return g
}

func (g *gate) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	g.arrived.Add(1)
	select {
	case <-g.opened:
		g.count.Add(1)
	case <-r.Context().Done():
	}
}

func (g *gate) open() { close(g.opened) }

// awaitArrived waits until there were so many requests.
func (g *gate) awaitArrived(t *testing.T, n int) {
	t.Helper()
	for deadline := time.Now().Add(patience); int(g.arrived.Load()) < n; {
		require.True(t, time.Now().Before(deadline), "requests at the gate")
		time.Sleep(50 * time.Millisecond) // before the next look
	}
}

// passed counts the answers.
func (g *gate) passed() int { return int(g.count.Load()) }
