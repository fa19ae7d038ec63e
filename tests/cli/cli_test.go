package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// built is where TestMain puts the binary, the example modules and the cache of
// compiled code, which all hosts share.
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
		if err := buildAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

func buildAll(dir string) error {
	if err := build(nil, "-o", filepath.Join(dir, "bin")+"/", "./cmd/cruster-host"); err != nil {
		return err
	}
	for _, example := range []string{"approval", "orders"} {
		out := filepath.Join(dir, "modules", example+".wasm")
		if err := build([]string{"GOOS=wasip1", "GOARCH=wasm"}, "-buildmode=c-shared", "-ldflags=-s -w", "-o", out, "./modules/examples/"+example); err != nil {
			return err
		}
	}
	return nil
}

func build(env []string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

func TestCLI(t *testing.T) {
	t.Parallel()

	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", filepath.Join(built, "bin")+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Setenv("MODULES", filepath.Join(built, "modules"))
			env.Setenv("CRUSTER_CACHE_DIR", filepath.Join(built, "compiled"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"diedhost": cmdDiedHost,
			"exits":    cmdExits,
			"host":     cmdHost,
			"killhost": cmdKillHost,
			"probe":    cmdProbe,
			"stophost": cmdStopHost,
			"truncate": cmdTruncate,
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
