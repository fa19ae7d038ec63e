package devloop

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

func TestGoProject(t *testing.T) {
	t.Parallel()
	d := startDev(t, "hello", "go", "main.go", "GOPROXY=off")
	require.Equal(t, 1, d.await("deployed").Version)
	require.Contains(
		t, d.command("workflow", "execute", "hello/Greet", "--input", `{"id":"1","name":"Ada"}`), "Hello, Ada!",
	)

	d.edit(`"Hello, "`, `"Good day, "`)
	require.Equal(t, 2, d.await("deployed").Version)
	require.Contains(
		t, d.command("workflow", "execute", "hello/Greet", "--input", `{"id":"2","name":"Ada"}`), "Good day, Ada!",
	)

	d.edit(`"Good day, "`, `"Good day, " + nothing`)
	require.Contains(t, d.await("failed").Output, "undefined: nothing")
	require.Contains(t, d.command("module", "describe", "hello"), `"version":2`, "what was deployed before stays")

	// An execution that stays open, and a change that it does not fit.
	d.edit(`"Good day, " + nothing`, `"Good day, "`, "time.Second", "time.Hour")
	require.Equal(t, 3, d.await("deployed").Version)
	d.command("workflow", "start", "hello/Greet", "--input", `{"id":"3","name":"Ada"}`)
	harness.Eventually(t, "the execution sleeps", func() bool {
		return strings.Contains(d.command("workflow", "describe", "hello/Greet/3"), `"kind":"sleep"`)
	})
	d.edit("Count.Call(ctx, visit.Name)", "int64(1), error(nil)")
	e := d.await("deployed")
	require.Equal(t, 4, e.Version)
	require.NotNil(t, e.Check)
	require.Equal(t, 1, e.Check.Differ)
	require.Equal(t, "hello/Greet/3", e.Check.Kinds[0].First)
	d.stop()
}

func TestRustProject(t *testing.T) {
	t.Parallel()
	// A toolchain may lack the target: the script knows what to do about that.
	tools := t.TempDir()
	shim := "#!/bin/sh\nexec '" + harness.Root() + "/scripts/rust.sh' cargo \"$@\"\n"
	require.NoError(t, os.WriteFile(filepath.Join(tools, "cargo"), []byte(shim), 0o700))
	// The script finds the real one behind it, in the folder of rustc.
	path := "PATH=" + tools + string(os.PathListSeparator) + os.Getenv("PATH")
	d := startDev(t, "hello", "rust", "src/lib.rs", append(harness.RustProject(), path)...)
	require.Equal(t, 1, d.await("deployed").Version)

	d.edit(`"Hello, {}!"`, `"Hello, {}!" nothing`)
	require.Contains(t, d.await("failed").Output, "src/lib.rs:")
	d.edit(`"Hello, {}!" nothing`, `"Good day, {}!"`)
	require.Equal(t, 2, d.await("deployed").Version)
	require.Contains(
		t, d.command("workflow", "execute", "hello/Greet", "--input", `{"id":"2","name":"Ada"}`), "Good day, Ada!",
	)
	d.stop()
}

// event is a line that `dev --watch -o jsonl` prints.
type event struct {
	GRPC   string
	Event  string
	Error  string
	Output string
	// Version of the deployment.
	Version int
	Check   *struct {
		Differ int
		Kinds  []struct{ First string }
	}
}

// dev is a host that watches the folder of a new project.
type dev struct {
	t      *testing.T
	cmd    *exec.Cmd
	addr   string
	source string
	events chan event
}

// startDev makes a project with the SDK of this tree, and watches it. source is the file that edit changes.
func startDev(t *testing.T, name, language, source string, env ...string) *dev {
	t.Helper()
	top := t.TempDir()
	binary := harness.Binary(t)
	d := &dev{t: t, source: filepath.Join(top, name, source), events: make(chan event, 100)}
	create := exec.CommandContext(t.Context(), binary, "new", name, "--lang", language, "--sdk", harness.Root())
	create.Dir = top
	out, err := create.CombinedOutput()
	require.NoError(t, err, "%s", out)

	d.cmd = exec.Command(
		binary, "dev", "-o", "jsonl", "--watch", name, "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
		"--cache-dir", harness.CacheDir(t),
	)
	d.cmd.Dir, d.cmd.Env = top, append(os.Environ(), env...)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log strings.Builder
	d.cmd.Stderr = &log
	stdout, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, d.cmd.Start())
	go func() {
		defer close(d.events)
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				e.Event, e.Output = "not JSON", lines.Text()
			}
			d.events <- e
		}
	}()
	t.Cleanup(func() {
		_ = d.cmd.Process.Kill() // it may have ended
		_ = d.cmd.Wait()
		if t.Failed() {
			t.Logf("the host's log:\n%s", &log)
		}
	})
	d.addr = d.next().GRPC
	require.NotEmpty(t, d.addr)
	return d
}

func (d *dev) next() event {
	d.t.Helper()
	select {
	case e, ok := <-d.events:
		require.True(d.t, ok, "the host has ended")
		return e
	case <-time.After(harness.Patience):
		require.FailNow(d.t, "nothing happens")
		panic("not reached")
	}
}

// await is the next event of this kind; builds come before it.
func (d *dev) await(kind string) event {
	d.t.Helper()
	for {
		e := d.next()
		if e.Event == kind {
			return e
		}
		require.Contains(d.t, []string{"building", "built", "deploying"}, e.Event, "%s\n%s", e.Error, e.Output)
	}
}

// edit replaces pairs of texts in the source, in one write.
func (d *dev) edit(pairs ...string) {
	d.t.Helper()
	before, err := os.ReadFile(d.source)
	require.NoError(d.t, err)
	after := strings.NewReplacer(pairs...).Replace(string(before))
	require.NotEqual(d.t, string(before), after)
	require.NoError(d.t, os.WriteFile(d.source, []byte(after), 0o600))
}

// command runs a command against the host, which must succeed.
func (d *dev) command(args ...string) string {
	d.t.Helper()
	cmd := exec.CommandContext(d.t.Context(), harness.Binary(d.t), append(args, "-o", "jsonl")...)
	cmd.Env = append(os.Environ(), "CRUSTER_ADDR="+d.addr)
	out, err := cmd.CombinedOutput()
	require.NoError(d.t, err, "%s", out)
	return string(out)
}

// stop asks the host to stop.
func (d *dev) stop() {
	d.t.Helper()
	require.NoError(d.t, d.cmd.Process.Signal(syscall.SIGTERM))
	for range d.events {
	}
	require.NoError(d.t, d.cmd.Wait())
}
