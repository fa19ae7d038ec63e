// Command go-workflows is the adapter of cschleiden/go-workflows on SQLite: the library in this process, with its
// worker, as its users embed it.
package main

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"github.com/cruster/cruster/bench/peers/internal/adapter"
)

type peer struct {
	client  *client.Client
	started sync.Map // key → *workflow.Instance
}

func main() {
	dir, _ := adapter.Arguments()
	file := filepath.Join(dir, "store.db")
	// The monoprocess backend tells workers of new tasks in the process, where the plain one has them poll.
	b := monoprocess.NewMonoprocessBackend(sqlite.NewSqliteBackend(
		file, sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler))),
	))
	adapter.Fail(durable(file))

	options := worker.DefaultOptions
	options.SingleWorkerMode = true
	options.WorkflowPollers, options.ActivityPollers = 4, 4
	options.WorkflowPollingInterval, options.ActivityPollingInterval = 5*time.Millisecond, 5*time.Millisecond
	options.WorkflowExecutorCacheSize = 4096
	options.WorkflowExecutorCacheTTL = time.Minute
	w := worker.New(b, &options)
	for _, f := range []any{sequence, parallel, sleeper} {
		adapter.Fail(w.RegisterWorkflow(f))
	}
	for _, f := range []any{step, clock} {
		adapter.Fail(w.RegisterActivity(f))
	}
	adapter.Fail(w.Start(context.Background()))
	adapter.Fail(adapter.Serve(
		context.Background(), &peer{client: client.New(b)}, adapter.Hello{Version: "go-workflows v1.4.2"},
	))
}

// durable checks that the driver that the backend uses flushes every commit, as Cruster does: the backend sets WAL mode
// and leaves synchronous at the default of the driver, which a new connection of the same driver shows.
func durable(file string) error {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	var mode string
	var level int
	if err := db.QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil {
		return err
	}
	if err := db.QueryRow("PRAGMA synchronous").Scan(&level); err != nil {
		return err
	}
	if mode != "wal" || level != 2 {
		return fmt.Errorf("journal_mode is %s and synchronous is %d: not wal and 2 (FULL)", mode, level)
	}
	return nil
}

// Start creates an instance; it is in the database when the call returns.
func (p *peer) Start(ctx context.Context, op adapter.Operation) error {
	f, ok := map[string]any{"Sequence": sequence, "Parallel": parallel, "Sleeper": sleeper}[op.Kind]
	if !ok {
		return fmt.Errorf("there is no workflow %q", op.Kind)
	}
	instance, err := p.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: op.Key}, f, op)
	if err == nil {
		p.started.Store(op.Key, instance)
	}
	return err
}

// Wait polls with growing pauses, from a millisecond on: the library's client has no other way.
func (p *peer) Wait(ctx context.Context, op adapter.Operation) (int64, error) {
	instance, ok := p.started.LoadAndDelete(op.Key)
	if !ok {
		return 0, fmt.Errorf("%s was not started", op.Key)
	}
	return client.GetWorkflowResult[int64](ctx, p.client, instance.(*workflow.Instance), 5*time.Minute)
}

func sequence(ctx workflow.Context, op adapter.Operation) (int64, error) {
	sum := int64(0)
	for i := range op.N {
		n, err := workflow.ExecuteActivity[int64](ctx, workflow.DefaultActivityOptions, step, int64(i)).Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func parallel(ctx workflow.Context, op adapter.Operation) (int64, error) {
	steps := make([]workflow.Future[int64], op.N)
	for i := range steps {
		steps[i] = workflow.ExecuteActivity[int64](ctx, workflow.DefaultActivityOptions, step, int64(i))
	}
	sum := int64(0)
	for _, future := range steps {
		n, err := future.Get(ctx)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func sleeper(ctx workflow.Context, op adapter.Operation) (int64, error) {
	if err := workflow.Sleep(ctx, time.UnixMilli(op.Due).Sub(workflow.Now(ctx))); err != nil {
		return 0, err
	}
	return workflow.ExecuteActivity[int64](ctx, workflow.DefaultActivityOptions, clock).Get(ctx)
}

func step(_ context.Context, n int64) (int64, error) { return n, nil }

func clock(context.Context) (int64, error) { return time.Now().UnixMicro(), nil }
