package cli

import (
	"context"
	"fmt"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// explaining makes a call. If that takes a while it describes the wait on standard error: look's
// finding, once. That the host cannot tell now is no reason to stop.
func (a *app) explaining(ctx context.Context, look func(ctx context.Context) string, call func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		a.explain(ctx, look)
	}()
	err := call()
	cancel()
	<-stopped
	return err
}

func (a *app) explain(ctx context.Context, look func(ctx context.Context) string) {
	said := ""
	for quiet := 2 * a.quiet; ; quiet = min(2*quiet, maxQuiet) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(quiet):
		}
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		waits := look(ctx)
		cancel()
		if waits != "" && waits != said {
			said = waits
			a.say("waiting: " + waits)
		}
	}
}

// say writes a line to standard error while a call is under way.
func (a *app) say(line string) {
	a.saying.Lock()
	defer a.saying.Unlock()
	fmt.Fprintln(a.stderr, line)
}

// lookAtTurn says that the code of an execution computes.
func (a *app) lookAtTurn(c *client.Client, execution string) func(ctx context.Context) string {
	return func(ctx context.Context) string {
		d, err := c.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{
			View:      crusterv1.ExecutionView_EXECUTION_VIEW_FULL,
			Namespace: a.namespace, Execution: execution, Encoding: jsonForm,
		})
		if err != nil {
			return ""
		}
		return view.WaitsForTurn(d)
	}
}

// lookAtLock names the holder of an entity's lock, if it is among the first that are locked.
func (a *app) lookAtLock(c *client.Client, entity string) func(ctx context.Context) string {
	return func(ctx context.Context) string {
		resp, err := c.Entities().ListEntityLocks(ctx, &crusterv1.ListEntityLocksRequest{
			Namespace: a.namespace, PageSize: pageLimit,
		})
		if err != nil {
			return ""
		}
		return view.WaitsForLock(resp.GetLocks(), entity)
	}
}
