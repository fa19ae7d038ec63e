package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/addrtest"
)

// FindBinary is [Binary] before there is a test.
var FindBinary = sync.OnceValues(func() (string, error) { return findHost("CRUSTER_TEST_BINARY", "cruster-host") })

// crashBinary is built with the tag that lets tests kill a host at its fault points.
var crashBinary = sync.OnceValues(func() (string, error) {
	return findHost("CRUSTER_TEST_CRASH_BINARY", "cruster-host-crashpoints", "-tags", "crashpoints")
})

// findHost returns the binary that a variable names, or builds one. The built binary is named by
// its content, so that a test starts the same one throughout, and the packages of a run use one.
func findHost(variable, name string, flags ...string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		if !filepath.IsAbs(path) {
			path = filepath.Join(Root(), path)
		}
		return path, nil
	}
	folder := filepath.Join(Root(), ".cache", "tests")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(folder, "build-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	out := filepath.Join(work, name)
	cmd := exec.Command(
		"go",
		append(
			append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}, flags...), "./cmd/cruster-host",
		)...,
	)
	cmd.Dir = Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build cruster-host: %w\n%s", err, text)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		return "", err
	}
	place := filepath.Join(folder, fmt.Sprintf("%s-%.6x", name, sha256.Sum256(content)))
	return place, errors.Join(os.Rename(out, place), removeOld(folder))
}

// removeOld removes files of earlier days from a folder.
func removeOld(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < 24*time.Hour {
			continue // another process may have removed it
		}
		if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// Binary is the path of the real cruster-host: named by CRUSTER_TEST_BINARY, or built once a
// process.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := FindBinary()
	require.NoError(t, err)
	return path
}

// CrashBinary is the path of a cruster-host that obeys CRUSTER_FAULT=POINT@N, CRUSTER_MAX_ENTRIES=N
// and CRUSTER_EVICT_ALWAYS=1; all else is as in [Binary]. CRUSTER_TEST_CRASH_BINARY names a
// prebuilt one.
func CrashBinary(t testing.TB) string {
	t.Helper()
	path, err := crashBinary()
	require.NoError(t, err)
	return path
}

// Process is a real host: it can be killed with -9 and started again on the same store and the same addresses.
type Process struct {
	GRPC, HTTP string

	t    testing.TB
	args []string
	env  []string // for a CrashBinary; nil means that it is the Binary
	cmd  *exec.Cmd
	log  bytes.Buffer
	// group is the control group that the host runs in; empty means the test's own.
	group string
}

// NewProcess prepares a host over a store ("sqlite:DIR" or "postgres://…"). It is not started.
func NewProcess(t testing.TB, store string, args ...string) *Process {
	t.Helper()
	p := &Process{t: t, GRPC: addrtest.Reserve(t), HTTP: addrtest.Reserve(t)}
	p.args = append([]string{
		"serve", "--store", store, "--grpc-addr", p.GRPC, "--http-addr", p.HTTP, "--cache-dir", CacheDir(t),
		// Long enough that a guest on a loaded machine is not taken for a runaway.
		"--turn-timeout", Patience.String(),
	}, args...)
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("the host's log:\n%s", tail(p.log.Bytes(), 8<<10))
		}
	})
	return p
}

// Arm has the next starts use the [CrashBinary] with these variables.
func (p *Process) Arm(env ...string) { p.env = append([]string{}, env...) }

// Start starts the host and waits until it is ready.
func (p *Process) Start() {
	p.t.Helper()
	p.launch()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for !p.ready(ctx) {
		if ctx.Err() != nil {
			require.FailNow(p.t, "the host did not become ready") // its log is shown behind its end
		}
	}
}

func (p *Process) launch() {
	binary := Binary
	if p.env != nil {
		binary = CrashBinary
	}
	p.cmd = exec.Command(binary(p.t), p.args...)
	if p.group != "" {
		enter := []string{"-c", `echo $$ > "$0/cgroup.procs" && exec "$@"`, p.group, binary(p.t)}
		p.cmd = exec.Command("sh", append(enter, p.args...)...)
	}
	if p.env != nil {
		p.cmd.Env = append(os.Environ(), p.env...)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	// The host must not outlive a test that is killed.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(p.t, p.cmd.Start())
}

// Run starts a host that is expected to end by itself, and returns its exit code.
func (p *Process) Run() int {
	p.t.Helper()
	p.launch()
	return p.Exit()
}

func (p *Process) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+"/readyz", nil)
	require.NoError(p.t, err)
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return true
		}
	}
	time.Sleep(5 * time.Millisecond) // before the next request to the other process
	return false
}

// Started tells whether the host was started and its end not awaited.
func (p *Process) Started() bool { return p.cmd != nil }

// PID is the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Kill kills the host with SIGKILL and waits for its end.
func (p *Process) Kill() {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		p.cmd = nil
	}
}

// Terminate asks the host to stop, and returns its exit code.
func (p *Process) Terminate() int {
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	_ = p.cmd.Wait()
	code := p.cmd.ProcessState.ExitCode()
	p.cmd = nil
	return code
}

// Signal sends the host a signal.
func (p *Process) Signal(signal syscall.Signal) {
	require.NoError(p.t, p.cmd.Process.Signal(signal))
}

// Exit waits until the host has ended by itself, and returns its exit code.
func (p *Process) Exit() int {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(Patience):
		require.FailNow(p.t, "the host did not end by itself")
	}
	code := p.cmd.ProcessState.ExitCode()
	p.cmd = nil
	return code
}

// Log is the output of a host that has ended: while it runs, there may be more to come.
func (p *Process) Log() string {
	p.t.Helper()
	require.False(p.t, p.Started(), "the log of a host is read behind its end")
	return p.log.String()
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }
