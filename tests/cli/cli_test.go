package cli

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

// built is where TestMain puts the binary and the modules.
var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "cruster-cli")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		built = dir
		err = errors.Join(os.Mkdir(filepath.Join(dir, "bin"), 0o755), os.Mkdir(filepath.Join(dir, "modules"), 0o755))
		if err := errors.Join(err, buildAll(dir)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return pgtest.Main(m)
	}())
}

// buildAll builds the programs that scripts find on their path, and their modules.
func buildAll(dir string) error {
	for name, find := range map[string]func() (string, error){
		"cruster-host": harness.FindBinary,
		"grpcurl":      func() (string, error) { return harness.Tool("grpcurl") },
	} {
		path, err := find()
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, "bin", name))
		}
		if err != nil {
			return err
		}
	}
	for _, module := range []string{
		"modules/examples/approval", "modules/examples/orders", "tests/guests/conformance",
		"tests/guests/change/base", "tests/guests/change/buggy", "tests/guests/change/inserted",
		"tests/guests/change/removed",
	} {
		binary, err := harness.ReadModule(module)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "modules", filepath.Base(module)+".wasm"), binary, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func TestCLI(t *testing.T) {
	t.Parallel()
	store, schema := pgtest.DSN(t), pgtest.Schema(t)

	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Join(built, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
			proto, err := filepath.Abs(filepath.Join("..", "..", "api"))
			if err != nil {
				return err
			}
			env.Setenv("PROTO", proto)
			env.Setenv("POSTGRES", store)
			env.Setenv("POSTGRES_SCHEMA", schema)
			env.Setenv("CRUSTER_HOST", filepath.Join(built, "bin", "cruster-host"))
			env.Setenv("MODULES", filepath.Join(built, "modules"))
			env.Setenv("CRUSTER_CACHE_DIR", harness.CacheDir(t))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":       cmdExits,
			"host":        cmdHost,
			"killhost":    cmdKillHost,
			"pending":     cmdPending,
			"probe":       cmdProbe,
			"pushrequest": cmdPushRequest,
			"scheduled":   cmdScheduled,
			"stophost":    cmdStopHost,
			"truncate":    cmdTruncate,
		},
	})
}

// cmdExits runs a command and checks its exit code: exits 3 cruster-host …
func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("the exit code is %d, not %d", got, want)
	}
}

// cmdPending waits until an execution waits for an op of a kind: pending KIND EXECUTION.
func cmdPending(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pending KIND EXECUTION")
	}
	for deadline := time.Now().Add(patience); ; {
		out, err := describe(ts, "workflow", args[1])
		if err == nil && strings.Contains(out, `"kind": "`+args[0]+`"`) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not wait for a %s: %v\n%s", args[1], args[0], err, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// cmdScheduled waits until a schedule has started a number of runs: scheduled N NAME.
func cmdScheduled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: scheduled N NAME")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(patience); ; {
		out, err := describe(ts, "schedule", args[1])
		var s struct{ Started int }
		if err == nil {
			ts.Check(json.Unmarshal([]byte(out), &s))
		}
		if s.Started >= want {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s has started %d runs: %v\n%s", args[1], s.Started, err, out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func describe(ts *testscript.TestScript, kind, name string) (string, error) {
	cmd := exec.Command(filepath.Join(built, "bin", "cruster-host"), kind, "describe", name, "-o", "json")
	cmd.Env = append(os.Environ(), "CRUSTER_ADDR="+ts.Getenv("CRUSTER_ADDR"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// cmdPushRequest writes the JSON of a cruster.v1.PushModuleRequest, as a shell would with base64: pushrequest MODULE
// NAME FILE.
func cmdPushRequest(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: pushrequest MODULE NAME FILE")
	}
	binary, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	request := fmt.Sprintf(`{"metadata":{"name":%q},"binary":%q}`, args[1], base64.StdEncoding.EncodeToString(binary))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(request), 0o600))
}
