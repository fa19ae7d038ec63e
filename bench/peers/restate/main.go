// Command restate is the adapter of Restate: its server as a process of its own, the services with its Go SDK in this
// process, and the SDK's client of the ingress. The binary of the server is beside this one: restate-server.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"

	"github.com/cruster/cruster/bench/peers/internal/adapter"
)

type peer struct {
	ingress *ingress.Client
	ids     sync.Map // key → the id of the invocation
}

func main() {
	dir, _ := adapter.Arguments()
	self, err := os.Executable()
	adapter.Fail(err)
	program := filepath.Join(filepath.Dir(self), "restate-server")
	ports := freePorts(4)
	cmd, err := launch(program, dir, ports)
	adapter.Fail(err)
	defer func() {
		_ = cmd.Process.Kill() // its store is thrown away
		_ = cmd.Wait()
	}()
	services := fmt.Sprintf("127.0.0.1:%d", ports[3])
	go func() {
		handlers := server.NewRestate().WithLogger(slog.DiscardHandler, true).Bind(restate.Reflect(Bench{})).Bind(
			restate.Reflect(Counter{}),
		)
		adapter.Fail(handlers.Start(context.Background(), services))
	}()
	if err := register(fmt.Sprintf("http://127.0.0.1:%d", ports[1]), "http://"+services); err != nil {
		_ = cmd.Process.Kill()
		adapter.Fail(err)
	}
	p := &peer{
		ingress: ingress.NewClient(fmt.Sprintf("http://127.0.0.1:%d", ports[0]), ingress.WithHttpClient(&http.Client{
			Transport: &http.Transport{MaxIdleConns: 128, MaxIdleConnsPerHost: 128},
		})),
	}
	err = adapter.Serve(context.Background(), p, adapter.Hello{Version: version(program), PIDs: []int{cmd.Process.Pid}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// launch starts the server as a single node with all roles. Its log is flushed before a record counts as written
// (rocksdb-disable-wal-fsync is false), which is the default, stated here. The limit on invocations at work is raised
// from 1,000, because sleepers count until they are suspended.
func launch(program, dir string, ports []int) (*exec.Cmd, error) {
	config := filepath.Join(dir, "restate.toml")
	err := os.WriteFile(config, fmt.Appendf(nil, `
base-dir = %q
bind-address = "127.0.0.1:%d"
advertised-address = "http://127.0.0.1:%d"
disable-telemetry = true
log-filter = "warn"
listen-mode = "tcp"
[admin]
bind-address = "127.0.0.1:%d"
disable-web-ui = true
[ingress]
bind-address = "127.0.0.1:%d"
[bifrost.local]
rocksdb-disable-wal-fsync = false
[log-server]
rocksdb-disable-wal-fsync = false
[worker.invoker]
concurrent-invocations-limit = 4096
`, dir, ports[2], ports[2], ports[1], ports[0]), 0o600)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--config-file", config, "--no-logo", "--node-name", "bench")
	cmd.Stdout, cmd.Stderr, cmd.Dir = os.Stderr, os.Stderr, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd, cmd.Start()
}

// register tells the server where the services are, as soon as it answers.
func register(admin, services string) error {
	var last error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		body := fmt.Sprintf(`{"uri": %q, "force": true}`, services)
		resp, err := http.Post(admin+"/deployments", "application/json", bytes.NewBufferString(body))
		if err != nil {
			last = err
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode < 300 {
			return nil
		}
		last = fmt.Errorf("register: %s: %s", resp.Status, text)
	}
	return last
}

func version(program string) string {
	out, _ := exec.Command(program, "--version").Output()
	return fmt.Sprintf("%s, sdk-go v1.2.0", bytes.TrimSpace(out))
}

func freePorts(n int) []int {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		adapter.Fail(err)
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports
}

// Start sends an invocation with the key for idempotency; the server has it in its log when it answers.
func (p *peer) Start(ctx context.Context, op adapter.Operation) error {
	sent, err := ingress.ServiceSend[adapter.Operation](p.ingress, "Bench", op.Kind).Send(
		ctx, op, restate.WithIdempotencyKey(op.Key),
	)
	if err == nil {
		p.ids.Store(op.Key, sent.Id())
	}
	return err
}

func (p *peer) Wait(ctx context.Context, op adapter.Operation) (int64, error) {
	id, ok := p.ids.LoadAndDelete(op.Key)
	if !ok {
		return 0, fmt.Errorf("%s was not started", op.Key)
	}
	return ingress.InvocationById[int64](p.ingress, id.(string)).Attach(ctx)
}

// Execute is one request, as a user makes it for the result.
func (p *peer) Execute(ctx context.Context, op adapter.Operation) (int64, error) {
	if op.Kind == "Add" {
		return ingress.Object[int64, int64](p.ingress, "Counter", op.Object, op.Kind).Request(
			ctx, int64(op.N), restate.WithIdempotencyKey(op.Key),
		)
	}
	return ingress.Service[adapter.Operation, int64](p.ingress, "Bench", op.Kind).Request(
		ctx, op, restate.WithIdempotencyKey(op.Key),
	)
}

// Counter is a virtual object: its state is kept by its key, and its handler runs once at a time for each.
type Counter struct{}

// Add adds to the counter.
func (Counter) Add(ctx restate.ObjectContext, n int64) (int64, error) {
	count, err := restate.Get[int64](ctx, "count")
	if err != nil {
		return 0, err
	}
	count += n
	restate.Set(ctx, "count", count)
	return count, nil
}

// Bench is the service.
type Bench struct{}

// Sequence takes steps one after the other.
func (Bench) Sequence(ctx restate.Context, op adapter.Operation) (int64, error) {
	sum := int64(0)
	for i := range op.N {
		n, err := restate.Run(
			ctx, func(restate.RunContext) (int64, error) { return int64(i), nil }, restate.WithName("step"),
		)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Parallel takes steps at once.
func (Bench) Parallel(ctx restate.Context, op adapter.Operation) (int64, error) {
	steps := make([]restate.RunAsyncFuture[int64], op.N)
	for i := range steps {
		steps[i] = restate.RunAsync(
			ctx, func(restate.RunContext) (int64, error) { return int64(i), nil }, restate.WithName("step"),
		)
	}
	sum := int64(0)
	for _, step := range steps {
		n, err := step.Result()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// Sleeper sleeps and then reads the clock.
func (Bench) Sleeper(ctx restate.Context, op adapter.Operation) (int64, error) {
	left, err := restate.Run(
		ctx, func(restate.RunContext) (int64, error) { return time.Until(time.UnixMilli(op.Due)).Milliseconds(), nil },
		restate.WithName("left"),
	)
	if err != nil {
		return 0, err
	}
	if err := restate.Sleep(ctx, time.Duration(left)*time.Millisecond); err != nil {
		return 0, err
	}
	return restate.Run(
		ctx, func(restate.RunContext) (int64, error) { return time.Now().UnixMicro(), nil }, restate.WithName("clock"),
	)
}
