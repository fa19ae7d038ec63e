package crash_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
)

// processes launches the real binary, built so that it can be armed, one process after the other on the same store.
type processes struct {
	t     *testing.T
	store []string // the flags that name it
	evict bool
}

func (ps *processes) launch(a arming) *life {
	args := append([]string{
		"serve", "-o", "jsonl", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--cache-dir", harness.CacheDir(ps.t), "--turn-timeout", harness.Patience.String(), "--log-level", "warn",
		"--retention", a.retention.String(),
	}, ps.store...)
	cmd := exec.Command(harness.CrashBinary(ps.t), args...)
	cmd.Env = os.Environ()
	if ps.evict {
		cmd.Env = append(cmd.Env, "CRUSTER_EVICT_ALWAYS=1")
	}
	if a.at != nil {
		cmd.Env = append(cmd.Env, "CRUSTER_FAULT="+a.at.String())
	}
	// The host must not outlive a test that is killed.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	log := &output{}
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	require.NoError(ps.t, err)
	require.NoError(ps.t, cmd.Start())

	l := &life{died: make(chan struct{})}
	var ended atomic.Bool
	screen := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n') // empty if the host ends first
		screen <- line
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait() // its state is looked at
		if !ended.Load() {
			l.wrong = diedAt(a, cmd.ProcessState, log.String())
		}
		close(l.died)
	}()
	l.end = func() {
		ended.Store(true)
		_ = cmd.Process.Kill() // it may have ended before
		<-l.died
	}
	l.target = ps.connect(<-screen, l, log)
	return l
}

// connect dials the host that has shown its first screen. There is none if the host died before.
func (ps *processes) connect(line string, l *life, log *output) target {
	var screen struct{ GRPC string }
	if err := json.Unmarshal([]byte(line), &screen); err != nil {
		<-l.died
		require.NoError(ps.t, l.wrong, "the host did not start: %q\n%s", line, log)
		return nil
	}
	// Nothing is retried there: the driver does that, and knows why.
	c, err := client.Dial(screen.GRPC, client.WithRetryFor(0))
	require.NoError(ps.t, err)
	ps.t.Cleanup(func() { _ = c.Close() }) // the host is long dead
	return overGRPC{c}
}

// diedAt checks that a process killed itself, and where.
func diedAt(a arming, state *os.ProcessState, log string) error {
	status, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case a.at == nil:
		return fmt.Errorf("a host ended that was not told to: %v\n%s", state, log)
	case !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL:
		return fmt.Errorf("a host was to kill itself at %s and ended otherwise: %v\n%s", a.at, state, log)
	case !bytes.HasSuffix([]byte(log), fmt.Appendf(nil, "killed at %s\n", a.at)):
		return fmt.Errorf("a host was to kill itself at %s and was killed elsewhere\n%s", a.at, log)
	}
	return nil
}

// output collects the output of a process.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// overGRPC is a host as its clients see it.
type overGRPC struct{ client *client.Client }

func (g overGRPC) push(ctx context.Context, m module) error {
	_, err := g.client.Push(ctx, client.PushRequest{
		Name: m.name, Binary: m.binary, Config: m.config, AllowHTTP: m.allowHTTP,
	})
	return err
}

func (g overGRPC) start(ctx context.Context, r request) (string, error) {
	w := client.Workflow[any, any](g.client, r.workflow)
	if r.key != "" {
		w = w.WithKeyRaw(r.key)
	}
	run, err := w.Start(ctx, r.input)
	return run.Execution(), err
}

func (g overGRPC) settle(ctx context.Context, execution, name string, value any) error {
	return g.client.Resolve(ctx, execution, name, value)
}

func (g overGRPC) signal(ctx context.Context, execution, name, requestID string, value any) error {
	return client.Signal[any](name).Send(ctx, g.client, execution, value, client.WithRequestID(requestID))
}

func (g overGRPC) update(ctx context.Context, execution, name, requestID string, input any) error {
	_, err := client.Update[any, any](name).WithRequestID(requestID).Call(ctx, g.client, execution, input)
	return err
}

func (g overGRPC) call(ctx context.Context, o operation) error {
	_, err := g.entity(o).Call(ctx, o.input)
	return err
}

func (g overGRPC) send(ctx context.Context, o operation) error { return g.entity(o).Send(ctx, o.input) }

func (g overGRPC) parkedAt(ctx context.Context, entity string) (all []time.Time, err error) {
	found, err := g.client.Entities().ListParkedMessages(ctx, &crusterv1.ListParkedMessagesRequest{Entity: entity})
	for _, m := range found.GetMessages() {
		all = append(all, m.GetParkTime().AsTime())
	}
	return all, err
}

func (g overGRPC) retryParked(ctx context.Context, entity string) error {
	_, err := g.client.RetryParked(ctx, entity)
	return err
}

func (g overGRPC) dropParked(ctx context.Context, entity string) error {
	_, err := g.client.DropParked(ctx, entity)
	return err
}

func (g overGRPC) entity(o operation) client.EntityOf[any, any] {
	slash := strings.LastIndex(o.entity, "/")
	return client.Operation[any, any](g.client, o.entity[:slash], o.name).On(o.entity[slash+1:]).WithRequestID(
		o.requestID,
	)
}

func (g overGRPC) interrupt(ctx context.Context, execution, reason string) error {
	return client.Attach[any](g.client, execution).Interrupt(ctx, reason)
}

func (g overGRPC) resume(ctx context.Context, execution string) error {
	return client.Attach[any](g.client, execution).Resume(ctx)
}

func (g overGRPC) fail(ctx context.Context, execution, reason string) error {
	return client.Attach[any](g.client, execution).Fail(ctx, reason)
}

func (g overGRPC) move(ctx context.Context, execution string) error {
	_, err := g.client.Move(ctx, execution, host.Latest)
	return err
}

func (g overGRPC) fork(ctx context.Context, execution string, at uint64, key string) error {
	_, err := g.client.Fork(ctx, execution, client.ForkRequest{At: at, Key: key})
	return err
}

func (g overGRPC) run(ctx context.Context, execution string) (string, error) {
	resp, err := g.client.Workflows().GetExecution(ctx, &crusterv1.GetExecutionRequest{Execution: execution})
	return resp.GetExecution().GetRunId(), err
}

func (g overGRPC) restart(ctx context.Context, execution, requestID string) error {
	_, _, err := g.client.Restart(ctx, execution, client.RestartRequest{RequestID: requestID})
	return err
}

func (g overGRPC) deleteRun(ctx context.Context, execution, run string) error {
	return g.client.Delete(ctx, execution, run)
}

func (g overGRPC) schedule(ctx context.Context, name string, r request) error {
	input, err := abi.Marshal(r.input)
	if err != nil {
		return err
	}
	_, err = g.client.Schedules().CreateSchedule(ctx, &crusterv1.CreateScheduleRequest{
		Name:   name,
		Paused: true,
		Spec: &crusterv1.ScheduleSpec{
			Workflow: r.workflow,
			Input:    &crusterv1.Payload{Data: &crusterv1.Payload_Msgpack{Msgpack: input}},
			Times:    &crusterv1.ScheduleSpec_Cron{Cron: "@yearly"},
		},
	})
	return err
}

func (g overGRPC) trigger(ctx context.Context, schedule, request string) (string, error) {
	resp, err := g.client.Schedules().TriggerSchedule(ctx, &crusterv1.TriggerScheduleRequest{
		Name: schedule, RequestId: request,
	})
	return resp.GetRun().GetExecution(), err
}

func (g overGRPC) pending(ctx context.Context, execution string) ([]string, error) {
	resp, err := g.client.Workflows().GetExecution(
		ctx, &crusterv1.GetExecutionRequest{View: crusterv1.ExecutionView_EXECUTION_VIEW_FULL, Execution: execution},
	)
	if err != nil {
		return nil, err
	}
	var ops []string
	for _, p := range resp.GetDetails().GetPending() {
		ops = append(ops, p.GetKind()+" "+p.GetName())
	}
	return ops, nil
}

func (g overGRPC) poll(ctx context.Context, execution string) error {
	_, err := client.Attach[any](g.client, execution).Poll(ctx)
	return err
}

func (g overGRPC) wait(ctx context.Context, execution string) (ending, error) {
	value, err := client.Attach[any](g.client, execution).Wait(ctx)
	var failed *client.RunError
	if errors.As(err, &failed) {
		return ending{state: string(failed.State), err: failed.Cause}, nil
	}
	return ending{state: string(client.Completed), value: value}, err
}
