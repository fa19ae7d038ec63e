// Command dbos is the adapter of DBOS Transact for Go on Postgres: the library in this process, as its users embed it.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"github.com/cruster/cruster/bench/peers/internal/adapter"
)

type peer struct {
	ctx     dbos.Context
	handles sync.Map // key → dbos.WorkflowHandle[int64]
}

func main() {
	_, dsn := adapter.Arguments()
	// The pool of 20 connections is the default; more do not help on two cores, and Postgres allows for them.
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{
		AppName: "bench", DatabaseURL: dsn, Logger: slog.New(slog.DiscardHandler),
	})
	adapter.Fail(err)
	dbos.RegisterWorkflow(ctx, sequence)
	dbos.RegisterWorkflow(ctx, parallel)
	dbos.RegisterWorkflow(ctx, sleeper)
	adapter.Fail(dbos.Launch(ctx))
	adapter.Fail(adapter.Serve(
		context.Background(), &peer{ctx: ctx}, adapter.Hello{Version: "DBOS Transact for Go v1.4.0"},
	))
}

// Start runs a workflow under its key; the row of the workflow is in the database when RunWorkflow returns.
func (p *peer) Start(_ context.Context, op adapter.Operation) error {
	workflow, ok := map[string]dbos.Workflow[adapter.Operation, int64]{
		"Sequence": sequence, "Parallel": parallel, "Sleeper": sleeper,
	}[op.Kind]
	if !ok {
		return fmt.Errorf("there is no workflow %q", op.Kind)
	}
	handle, err := dbos.RunWorkflow(p.ctx, workflow, op, dbos.WithWorkflowID(op.Key))
	if err == nil {
		p.handles.Store(op.Key, handle)
	}
	return err
}

// Wait takes the result from the handle, which is told in this process: it polls nothing.
func (p *peer) Wait(_ context.Context, op adapter.Operation) (int64, error) {
	handle, ok := p.handles.LoadAndDelete(op.Key)
	if !ok {
		return 0, fmt.Errorf("%s was not started", op.Key)
	}
	return handle.(dbos.WorkflowHandle[int64]).GetResult()
}

func sequence(ctx dbos.Context, op adapter.Operation) (int64, error) {
	sum := int64(0)
	for i := range op.N {
		n, err := dbos.RunAsStep(
			ctx, func(context.Context) (int64, error) { return int64(i), nil }, dbos.WithStepName("step"),
		)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

func parallel(ctx dbos.Context, op adapter.Operation) (int64, error) {
	steps := make([]<-chan dbos.StepOutcome[int64], op.N)
	for i := range steps {
		step, err := dbos.Go(
			ctx, func(context.Context) (int64, error) { return int64(i), nil }, dbos.WithStepName("step"),
		)
		if err != nil {
			return 0, err
		}
		steps[i] = step
	}
	sum := int64(0)
	for _, step := range steps {
		outcome := <-step
		if outcome.Err != nil {
			return 0, outcome.Err
		}
		sum += outcome.Result
	}
	return sum, nil
}

func sleeper(ctx dbos.Context, op adapter.Operation) (int64, error) {
	if _, err := dbos.Sleep(ctx, time.Until(time.UnixMilli(op.Due))); err != nil {
		return 0, err
	}
	return dbos.RunAsStep(
		ctx, func(context.Context) (int64, error) { return time.Now().UnixMicro(), nil }, dbos.WithStepName("clock"),
	)
}
