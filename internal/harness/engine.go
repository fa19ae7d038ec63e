package harness

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Patience bounds every wait for something that must happen, so that a failure says which wait it was: the time of
// go test would end it as well. It does not measure speed, and no machine is so slow or so busy that it reaches it.
const Patience = 15 * time.Minute

// Logger is quiet unless CRUSTER_TEST_LOG is set.
func Logger(testing.TB) *slog.Logger {
	level := slog.Level(100)
	if os.Getenv("CRUSTER_TEST_LOG") != "" {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

// Engine starts an engine over a store; it is stopped when the test ends.
func Engine(t testing.TB, store journal.Store, options ...func(*host.Config)) *host.Engine {
	t.Helper()
	cfg := host.Config{
		Store:        store,
		Logger:       Logger(t),
		Wasm:         wasm.Config{CacheDir: CacheDir(t), InitTimeout: Patience},
		DrainTimeout: time.Second,
		// Long enough that a guest on a loaded machine is not taken for a runaway.
		TurnTimeout: Patience,
	}
	usual := cfg.Wasm
	for _, o := range options {
		o(&cfg)
	}
	switchOff(t, &cfg)
	if cfg.Runtime == nil && cfg.Clock == nil && reflect.DeepEqual(cfg.Wasm, usual) {
		cfg.Runtime = sharedRuntime(t, usual)
	}
	e, err := host.New(cfg)
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(func() { _ = e.Stop(context.Background()) })
	return e
}

var shared struct {
	sync.Mutex
	runtime *wasm.Runtime
}

// sharedRuntime is the runtime of all engines of this process that ask for nothing else: to load a
// module takes longer than most tests. Loading at the restart of a host is left to tests that start
// processes.
func sharedRuntime(t testing.TB, cfg wasm.Config) *wasm.Runtime {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.runtime == nil {
		runtime, err := wasm.New(context.Background(), cfg)
		require.NoError(t, err)
		shared.runtime = runtime
	}
	return shared.runtime
}

// switchOff takes away optimisations of a host: guests behave the same without them.
// CRUSTER_TEST_WITHOUT is "images", "pools" or "hibernation".
func switchOff(t testing.TB, cfg *host.Config) {
	switch part := os.Getenv("CRUSTER_TEST_WITHOUT"); part {
	case "":
	case "images":
		cfg.Wasm.DisableImages = true
	case "pools":
		cfg.Wasm.IdleInstances = -1
	case "hibernation":
		cfg.HibernateAfter = -1
	default:
		require.FailNow(t, "CRUSTER_TEST_WITHOUT is "+part)
	}
}

// pushing lets only one test at a time push a module: the first compiles it, all others find it in the cache.
var pushing sync.Map // folder → *sync.Mutex

// Push deploys the guest of a folder (see [Module]) under a name.
func Push(t testing.TB, e *host.Engine, name, folder string, options ...func(*host.PushRequest)) {
	t.Helper()
	req := host.PushRequest{Name: name, Binary: Module(t, folder)}
	for _, o := range options {
		o(&req)
	}
	lock, _ := pushing.LoadOrStore(folder, &sync.Mutex{})
	lock.(*sync.Mutex).Lock()
	defer lock.(*sync.Mutex).Unlock()
	_, err := e.Deployments().Push(t.Context(), req)
	require.NoError(t, err)
}

// Start starts a workflow and returns the name of its execution.
func Start(t testing.TB, e *host.Engine, workflow string, input any) string {
	t.Helper()
	row, _, err := e.Launcher().Start(t.Context(), host.StartRequest{Workflow: workflow, Input: Encode(t, input)})
	require.NoError(t, err)
	return row.Name()
}

// Wait waits until an execution has ended or is paused.
func Wait(t testing.TB, e *host.Engine, execution string) *journal.Execution {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	row, err := e.Observer().Wait(ctx, "", execution)
	if err == nil {
		row, err = e.Observer().Whole(ctx, row)
	}
	if err != nil {
		require.FailNow(t, "an execution did not end", "waiting for %s: %v\nrunning:\n%s", execution, err, running(e))
	}
	return row
}

// running lists the waits of a host's executions, so that one failure in a thousand runs tells its
// cause.
func running(e *host.Engine) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	page, err := e.Observer().List(ctx, journal.Filter{State: journal.Running})
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, row := range page.Executions {
		fmt.Fprintf(&all, "%s (woken at %d, interrupted %t):", row.Name(), row.WakeAt, row.Interrupt != nil)
		d, err := e.Observer().Describe(ctx, row.Namespace, row.Name())
		if err != nil {
			fmt.Fprintln(&all, " "+err.Error())
			continue
		}
		fmt.Fprintf(&all, " %d entries, %d deferreds", d.Entries, len(d.Deferreds))
		for _, op := range d.Pending {
			fmt.Fprintf(&all, "; waits for %s %s since %s", op.Kind, op.Name, op.Since.Format(time.RFC3339Nano))
		}
		all.WriteByte('\n')
	}
	return all.String()
}

// Execute starts a workflow, waits for it, and decodes its result. The workflow must succeed.
func Execute[T any](t testing.TB, e *host.Engine, workflow string, input any) T {
	t.Helper()
	row := Wait(t, e, Start(t, e, workflow, input))
	require.Equal(t, journal.Completed, row.State, "%v", row.Error)
	return Decode[T](t, row.Value)
}

// Encode turns a value into msgpack.
func Encode(t testing.TB, v any) []byte {
	t.Helper()
	b, err := abi.Marshal(v)
	require.NoError(t, err)
	return b
}

// Decode turns msgpack into a value.
func Decode[T any](t testing.TB, data []byte) T {
	t.Helper()
	var v T
	require.NoError(t, abi.Unmarshal(data, &v))
	return v
}
