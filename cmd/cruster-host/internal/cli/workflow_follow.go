package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowFollow() *cobra.Command {
	req := client.FollowRequest{Encoding: jsonForm}
	cmd := &cobra.Command{
		Use:   "follow EXECUTION",
		Short: "See what happens to an execution, as it happens",
		Long: `See what happens to an execution, as it happens: the entries of its journal, and
what its workflow and its activities log from now on. When nothing happens for a
while it says what is waited for. It ends with the execution, and prints the
result. A paused execution is followed on, and so is the run that another
continues as.

` + exitHelp,
		Example: `  cruster-host workflow follow orders/ProcessOrder/order-42
  cruster-host workflow follow orders/ProcessOrder/order-42 --after 12 -o jsonl`,
		Annotations: map[string]string{waitsAnnotation: "execution"},
		Args:        cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Execution = args[0]
			return a.withClient(func(c *client.Client) error { return a.follow(cmd, c, req) })
		},
	}
	cmd.Flags().Uint64Var(&req.After, "after", 0, "sequence number of the last entry seen")
	addRun(cmd, &req.Run)
	return cmd
}

const (
	// maxQuiet bounds the time between two looks at an execution's waits.
	maxQuiet = 30 * time.Second
	// lookTimeout bounds such a look: events wait for it.
	lookTimeout = 2 * time.Second
)

// follow prints events until the execution ends.
func (a *app) follow(cmd *cobra.Command, c *client.Client, req client.FollowRequest) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	left := make(chan struct{})
	defer close(left)
	f := &follower{app: a, events: eventsOf(ctx, c, req, left)}
	quiet := a.quiet
	for {
		select {
		case e, more := <-f.events:
			if !more {
				return f.end(req.Execution)
			}
			if e.err != nil {
				return e.err
			}
			if err := f.print(e.message); err != nil {
				return err
			}
			quiet = a.quiet
		case <-time.After(quiet):
			if err := f.printWaiting(ctx, c, req); err != nil {
				return err
			}
			quiet = min(2*quiet, maxQuiet)
		}
	}
}

// followed is an event, or why there are no more.
type followed struct {
	message *crusterv1.FollowExecutionResponse
	err     error
}

// eventsOf yields the events of an execution until it ends. The last one is the error, if any,
// including ctx's; unless left is closed: then no one listens.
func eventsOf(ctx context.Context, c *client.Client, req client.FollowRequest, left <-chan struct{}) <-chan followed {
	events := make(chan followed)
	go func() {
		defer close(events)
		for m, err := range c.Follow(ctx, req) {
			select {
			case events <- followed{m, err}:
			case <-left:
				return
			}
		}
	}()
	return events
}

// follower is a command that follows an execution.
type follower struct {
	*app
	events <-chan followed
	last   *crusterv1.Execution // as it was told last
	waits  string               // the last printed wait
}

// print writes an event.
func (f *follower) print(m *crusterv1.FollowExecutionResponse) error {
	if e := m.GetExecution(); e != nil {
		told := f.last
		f.last = e
		if told.GetRunId() == e.GetRunId() && told.GetState() == e.GetState() {
			return nil // the command has found its host again
		}
		if client.StateOf(e.GetState()).Final() && f.output == "table" {
			return nil // the outcome says it
		}
	}
	f.waits = ""
	if f.output == "table" {
		return view.WriteFollowed(f.stdout, m)
	}
	return f.writeJSON(view.FollowedOf(m), "")
}

// printWaiting prints the execution's waits, once. It is for people: a program that reads JSON asks
// for them when needed. That the host cannot tell now is no reason to stop.
func (f *follower) printWaiting(ctx context.Context, c *client.Client, req client.FollowRequest) error {
	if f.output != "table" || client.StateOf(f.last.GetState()) != client.Running {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	d, err := c.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{
		View:      crusterv1.ExecutionView_EXECUTION_VIEW_FULL,
		Namespace: f.namespace, Execution: req.Execution, RunId: f.last.GetRunId(), Encoding: jsonForm,
	})
	if err != nil {
		return nil //nolint:nilerr // the stream of events tells the error
	}
	waits := view.WaitsFor(d)
	if waits == f.waits || waits == "" {
		return nil
	}
	f.waits = waits
	_, err = fmt.Fprintln(f.stdout, waits)
	return err
}

// end prints the outcome, and returns it as an error if it is one.
func (f *follower) end(name string) error {
	if !client.StateOf(f.last.GetState()).Final() {
		return abi.Errorf(abi.CodeInternal, "the host stopped telling about %s before it was over", name)
	}
	if f.output != "table" { // it is printed; the exit code says the rest
		return outcomeError(view.ExecutionOf(f.last), f.last.GetError())
	}
	return f.printOutcome(view.ExecutionOf(f.last), f.last.GetError())
}
