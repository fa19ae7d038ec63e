package clients

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

// A language has a client, and programs that use it.
type language struct {
	name string
	// program is the command that runs a program.
	program func(t *testing.T, name string) *exec.Cmd
}

var languages = []language{
	{name: "go", program: func(t *testing.T, name string) *exec.Cmd {
		t.Helper()
		return exec.Command(buildGo(t, name))
	}},
	{name: "rust", program: func(t *testing.T, name string) *exec.Cmd {
		t.Helper()
		return exec.Command(script(t, "rust", name))
	}},
	{name: "python", program: func(t *testing.T, name string) *exec.Cmd {
		t.Helper()
		// Python itself and not the script: a program that is killed leaves nothing behind.
		python := script(t, "python", "-c", "import sys; print(sys.executable)")
		cmd := exec.Command(python, filepath.Join(harness.Root(), "clients/python/examples", name+".py"))
		cmd.Env = append(
			os.Environ(), "PYTHONPATH="+filepath.Join(harness.Root(), "clients/python"), "PYTHONDONTWRITEBYTECODE=1",
		)
		return cmd
	}},
	{name: "typescript", program: func(t *testing.T, name string) *exec.Cmd {
		t.Helper()
		return exec.Command("node", script(t, "typescript", name))
	}},
}

func eachLanguage(t *testing.T, test func(t *testing.T, l language)) {
	t.Helper()
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			test(t, l)
		})
	}
}

// script is the last line that scripts/clients.sh prints. If something is not installed, its error says how it is.
func script(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(harness.Root(), "scripts/clients.sh"), args...)
	cmd.Dir = harness.Root()
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, "clients.sh %v: %s", args, &complaints)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// buildGo builds a program of the page on the Go client.
func buildGo(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "./docs/examples/clients/"+name)
	cmd.Dir = harness.Root()
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "build %s: %s", name, out)
	return path
}

// host is a host with the examples that the programs of the pages call.
func host(t *testing.T) *harness.Process {
	t.Helper()
	return hostOf(t, "modules/examples/orders", "modules/examples/cart", "modules/examples/approval")
}

// hostOf is a host with guests in Rust, named by their folders.
func hostOf(t *testing.T, folders ...string) *harness.Process {
	t.Helper()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir())
	p.Start()
	c, err := client.Dial(p.GRPC)
	require.NoError(t, err)
	defer c.Close()
	for _, folder := range folders {
		_, err := c.Push(t.Context(), client.PushRequest{
			Name: filepath.Base(folder), Binary: harness.Module(t, folder+"/rust"),
		})
		require.NoError(t, err)
	}
	return p
}

// A running program: its output is read line by line.
type running struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	in    io.Writer
	log   bytes.Buffer
}

func run(t *testing.T, cmd *exec.Cmd, env ...string) *running {
	t.Helper()
	r := &running{t: t, cmd: cmd}
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stderr = &r.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	tooLong := time.AfterFunc(harness.Patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		tooLong.Stop()
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	r.in, r.lines = in, bufio.NewScanner(out)
	return r
}

// says expects the next lines.
func (r *running) says(lines ...string) {
	r.t.Helper()
	for _, want := range lines {
		if !r.lines.Scan() {
			_ = r.cmd.Wait() // its complaint is complete then
			require.FailNow(r.t, "the program has ended", "it was to say %q; it complains: %s", want, &r.log)
		}
		require.Equal(r.t, want, r.lines.Text())
	}
}

// goOn lets a program go on after its demand.
func (r *running) goOn() {
	r.t.Helper()
	_, err := io.WriteString(r.in, "\n")
	require.NoError(r.t, err)
}

// ends expects the end of the program, with nothing more to say.
func (r *running) ends() {
	r.t.Helper()
	require.False(r.t, r.lines.Scan(), "it says %q", r.lines.Text())
	require.NoError(r.t, r.cmd.Wait(), "%s", &r.log)
}

// The programs that the pages begin with start a workflow, run one, and end.
func TestTheFirstPrograms(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, l language) {
		if l.name == "go" {
			return // its page begins with the program orders
		}
		program := l.program(t, "first")
		p := hostOf(t, "modules/examples/orders")
		r := run(t, program, "CRUSTER_ADDR="+p.GRPC)
		r.says("started orders/ProcessOrder/100", "confirmed", "confirmed")
		r.ends()
	})
}

// The programs of the pages work with a host as the pages say: workflows, signals, queries,
// deferreds, entities and refusals.
func TestTheProgramsOfThePages(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, l language) {
		program := l.program(t, "orders")
		p := host(t)
		r := run(t, program, "CRUSTER_ADDR="+p.GRPC)
		r.says(
			"started orders/ProcessOrder/42",
			"confirmed: 900 cents",
			"charged once",
			"failed CR-2006 invalid_order",
			`CR-1010: there is no deployment "nowhere"`,
			"approved by ada",
			"state: running",
			"interrupted: CR-2007",
			"total: 900",
			"total: 1350",
			"total: 1350",
			"CR-6006 no_such_item: there is no coffee in the cart",
			"items: 2",
		)
		r.ends()
	})
}

// Updates, published values, keys that are used again, and entities without a state.
func TestTheRestOfTheClients(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, l language) {
		program := l.program(t, "rest")
		p := hostOf(t, "tests/guests/conformance")
		r := run(t, program, "CRUSTER_ADDR="+p.GRPC)
		r.says(
			"3", "7", "7", "CR-2039 negative", "CR-2006 too_much", "bye", "[3, 7]", "CR-2044", "[false, true]", "over",
			"1", "1", "1",
		)
		r.ends()
	})
}

// A host that is killed and started again is no concern of a program: its requests are repeated,
// and find their earlier effects.
func TestARepeatedRequestFindsItsRun(t *testing.T) {
	t.Parallel()
	eachLanguage(t, func(t *testing.T, l language) {
		program := l.program(t, "restarts")
		p := host(t)
		r := run(t, program, "CRUSTER_ADDR="+p.GRPC)
		r.says("existed: false, total: 450", "> kill")
		p.Kill()
		r.goOn()
		r.says("> start")
		r.goOn() // its calls find no host, or the new one while it starts
		p.Start()
		r.says("existed: true, same: true", "total: 450", "> kill")
		p.Kill()
		r.goOn()
		r.says("> start and wait")
		p.Start()
		r.goOn()
		r.says("approved")
		r.ends()
	})
}
