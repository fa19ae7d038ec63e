// Package ops_test treats real hosts as operators and machines do: it terminates them, freezes them, and
// starts two of them on one store.
package ops_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

type object = map[string]any

const (
	clients = 4
	steps   = 20
	sum     = steps * (steps - 1) / 2
)

// place is a store that hosts can be started on.
type place struct {
	store string
	args  []string
	open  func() (journal.Store, error)
}

func onSQLite(t *testing.T) place {
	dir := t.TempDir()
	return place{"sqlite:" + dir, nil, func() (journal.Store, error) {
		return sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
	}}
}

func onPostgres(t *testing.T) place {
	dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
	return place{dsn, []string{"--schema", schema}, func() (journal.Store, error) {
		return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
	}}
}

// host starts a host there.
func (p place) host(t *testing.T, args ...string) *harness.Process {
	h := harness.NewProcess(t, p.store, append(args, p.args...)...)
	h.Start()
	return h
}

func dial(t *testing.T, p *harness.Process) *client.Client {
	c, err := client.Dial(p.GRPC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func push(t *testing.T, p *harness.Process) {
	_, err := dial(t, p).Push(t.Context(), client.PushRequest{
		Name: "steps", Binary: harness.Module(t, "tests/guests/steps"),
	})
	require.NoError(t, err)
}

// load is a group of clients that start workflows until stop is called.
type load struct {
	stopped atomic.Bool
	wait    sync.WaitGroup
	mu      sync.Mutex
	names   []string // of the executions whose start was acknowledged; guarded by mu
}

func startLoad(t *testing.T, p *harness.Process) *load {
	return startLoadOf(t, p, func(run string) object { return object{"run": run, "n": steps, "sql": true} })
}

// startLoadOf has clients start workflows with the given requests.
func startLoadOf(t *testing.T, p *harness.Process, request func(run string) object) *load {
	l := &load{}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	for i := range clients {
		c := dial(t, p)
		l.wait.Go(func() {
			for n := 0; !l.stopped.Load(); n++ {
				l.startOne(ctx, c, request(fmt.Sprintf("%d-%d", i, n)))
			}
		})
	}
	return l
}

func (l *load) startOne(ctx context.Context, c *client.Client, request object) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	h, err := client.Workflow[object, int](c, "steps/Steps").Start(ctx, request)
	if err != nil {
		return // the start was not acknowledged
	}
	l.mu.Lock()
	l.names = append(l.names, h.Execution())
	l.mu.Unlock()
}

func (l *load) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.names)
}

func (l *load) stop() []string {
	l.stopped.Store(true)
	l.wait.Wait()
	return l.names
}

// finish waits until a host has finished all executions, and then checks in the store that each step has written its
// row once.
func finish(t *testing.T, at place, p *harness.Process, names []string) {
	c := dial(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	for _, name := range names {
		got, err := client.Attach[int](c, name).Wait(ctx)
		require.NoError(t, err, name)
		require.Equal(t, sum, got, name)
	}
	require.Zero(t, p.Terminate())
	store, err := at.open()
	require.NoError(t, err)
	defer store.Close()
	tx, err := store.BeginGuest(ctx, "default")
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	_, rows, err := tx.Query(
		ctx,
		"SELECT count(*) FROM (SELECT execution, step FROM steps GROUP BY execution, step HAVING count(*) > 1) AS doubled",
		nil,
	)
	require.NoError(t, err)
	require.Equal(t, [][]any{{int64(0)}}, rows)
	_, rows, err = tx.Query(
		ctx, "SELECT count(*) FROM (SELECT execution FROM steps GROUP BY execution HAVING count(*) = $1) AS whole",
		[]any{int64(steps)},
	)
	require.NoError(t, err)
	require.GreaterOrEqual(t, rows[0][0], int64(len(names)))
}

// TestTerminatedUnderLoad: a host that is asked to stop ends with 0 in time, and the next one takes over its work.
func TestTerminatedUnderLoad(t *testing.T) {
	t.Parallel()
	for name, on := range map[string]func(*testing.T) place{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := on(t)
			p := at.host(t, "--drain-timeout", "5s")
			push(t, p)
			l := startLoad(t, p)
			harness.Eventually(t, "there is load", func() bool { return l.count() > 20 })
			p.Signal(syscall.SIGTERM)
			require.Zero(t, p.Exit())
			names := l.stop()
			p.Start()
			finish(t, at, p, names)
		})
	}
}

// TestZombie: a host is frozen while another one takes over. When it runs again it writes nothing and ends by itself.
func TestZombie(t *testing.T) {
	t.Parallel()
	at := onPostgres(t)
	zombie := at.host(t)
	push(t, zombie)
	l := startLoad(t, zombie)
	harness.Eventually(t, "there is load", func() bool { return l.count() > 20 })
	zombie.Signal(syscall.SIGSTOP)
	names := l.stop()
	heir := at.host(t)
	c := dial(t, heir)
	for _, name := range names {
		_, err := client.Attach[int](c, name).Wait(t.Context())
		require.NoError(t, err, name)
	}
	zombie.Signal(syscall.SIGCONT)
	require.Equal(t, exitFenced, zombie.Exit(), "a fenced host says so")
	require.Contains(t, zombie.Log(), "CR-", "the log must say why the host ended")
	finish(t, at, heir, names)
}

// TestTwoHostsOnOneFolder: the second host refuses to start, and the first one is not affected.
func TestTwoHostsOnOneFolder(t *testing.T) {
	t.Parallel()
	at := onSQLite(t)
	first := at.host(t)
	push(t, first)
	second := harness.NewProcess(t, at.store)
	require.NotZero(t, second.Run(), "the second host must refuse to start")
	require.Contains(t, second.Log(), "another process uses the data folder")
	got, err := client.Workflow[object, int](dial(t, first), "steps/Steps").Execute(t.Context(), object{
		"run": "x", "n": steps,
	})
	require.NoError(t, err)
	require.Equal(t, sum, got)
}
