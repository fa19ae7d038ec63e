package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	client "github.com/cruster/cruster/clients/go"
)

// cruster is the real binary on a store, and a client. Its settings are the defaults, but for the settings that a
// workload names.
type cruster struct {
	args   []string
	binary string
	client *client.Client
	cmd    *exec.Cmd
	http   string
	log    *os.File
	pushed time.Duration // how long the push of the guest took
	said   string        // its version
}

var _ target = (*cruster)(nil)

// request is the request of the workflows of the guest.
type request struct {
	Run string `json:"run"`
	N   int64  `json:"n"`
	Due int64  `json:"due"`
}

func openCruster(ctx context.Context, p *plan, s setup, dir, dsn string, settings []string) (*cruster, error) {
	store, cache := []string{"--store", dsn, "--schema", p.bed.lastDatabase()}, p.cache
	if s.Store == sqlite {
		store = []string{"--store", "sqlite:" + filepath.Join(dir, "store")}
	}
	if cache == "" {
		cache = filepath.Join(dir, "compiled")
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	c := &cruster{binary: p.binary, log: log, args: append([]string{
		"serve", "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0", "--cache-dir", cache, "--output", "json",
	}, append(store, settings...)...)}
	if err := c.launch(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	for _, name := range []string{"transfer", "load"} {
		if c.pushed, err = c.push(ctx, name, p.guest(name, s)); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// push uploads a module, and returns how long that took.
func (c *cruster) push(ctx context.Context, name, file string) (time.Duration, error) {
	binary, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	_, err = c.client.Push(ctx, client.PushRequest{Name: name, Binary: binary})
	if err != nil {
		return 0, fmt.Errorf("push %s: %w", file, err)
	}
	return time.Since(start), nil
}

// launch starts the process; its first line says where it listens.
func (c *cruster) launch() error {
	c.cmd = exec.Command(c.binary, c.args...)
	c.cmd.Stderr = c.log
	// The host must not outlive a measurement that is killed.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.cmd.Start(); err != nil {
		return err
	}
	var screen struct{ GRPC, HTTP, Version string }
	if err := json.NewDecoder(bufio.NewReader(out)).Decode(&screen); err != nil {
		_ = c.cmd.Process.Kill()
		return errors.Join(fmt.Errorf("the host did not start, see %s: %w", c.log.Name(), err), c.cmd.Wait())
	}
	c.http, c.said = screen.HTTP, screen.Version
	c.client, err = client.Dial(screen.GRPC)
	return err
}

// restart ends the process as a crash does, and starts it again on the same store.
func (c *cruster) restart() error {
	c.kill()
	return c.launch()
}

func (c *cruster) kill() {
	_ = c.client.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (c *cruster) close() error {
	c.kill()
	return c.log.Close()
}

func (c *cruster) version() string { return c.said }

func (c *cruster) pids() []int { return []int{c.cmd.Process.Pid} }

func (c *cruster) workflow(kind string) client.WorkflowOf[request, int64] {
	return client.Workflow[request, int64](c.client, "load/"+kind)
}

func (op operation) request() request { return request{Run: op.Key, N: int64(op.N), Due: op.Due} }

func (c *cruster) start(ctx context.Context, op operation) error {
	_, err := c.workflow(op.Kind).Start(ctx, op.request())
	return err
}

func (c *cruster) wait(ctx context.Context, op operation) (int64, error) {
	return client.Attach[int64](c.client, "load/"+op.Kind+"/"+op.Key).Wait(ctx)
}

func (c *cruster) execute(ctx context.Context, op operation) (int64, time.Duration, error) {
	start := time.Now()
	if op.Kind == kindAdd {
		n, err := client.Operation[int64, int64](c.client, "load/Counter", "add").On(op.Object).Call(ctx, int64(op.N))
		return n, time.Since(start), err
	}
	result, err := c.workflow(op.Kind).Execute(ctx, op.request())
	return result, time.Since(start), err
}

func (c *cruster) commits(ctx context.Context) (float64, bool, error) {
	n, err := c.metric(ctx, "cruster_commits_total")
	return n, true, err
}

// metric is the sum of a counter over all of its labels.
func (c *cruster) metric(ctx context.Context, name string) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.http+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for line := range strings.Lines(string(text)) {
		series, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if labels, isOurs := strings.CutPrefix(series, name); ok && isOurs && (labels == "" || labels[0] == '{') {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return 0, fmt.Errorf("metric %s: %w", series, err)
			}
			total += n
		}
	}
	return total, nil
}

// parked waits until the host has taken that many turns since it stood at before.
func (c *cruster) parked(ctx context.Context, before float64, turns int) error {
	for {
		now, err := c.metric(ctx, "cruster_turns_total")
		if err != nil || now >= before+float64(turns) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * time.Millisecond): // until the next look at another process
		}
	}
}
