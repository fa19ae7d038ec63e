package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/leaktest"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m)) }

// environment is one with the given NAME=VALUE variables and no others.
func environment(variables ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, v := range variables {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	}
}

// invoke runs the program as a process with an empty environment would.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return invokeIn(t, environment(), args...)
}

// invokeIn is invoke in an environment.
func invokeIn(t *testing.T, env func(string) (string, bool), args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), Process{
		Args: args, LookupEnv: env, Stderr: &errs, Stdin: strings.NewReader(""), Stdout: &out,
	})
	return code, out.String(), errs.String()
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()

	var visit func(args []string)
	visit = func(args []string) {
		code, help, _ := invoke(t, append(args, "--help")...)
		require.Zero(t, code, args)
		require.Contains(t, help, "Examples:\n  ", "%v has no example", args)
		require.Contains(
			t, help, "A flag wins over its [VARIABLE] in the environment, which wins over the default.\n", "%v", args,
		)
		for _, name := range subcommands(t, args) {
			visit(append(slices.Clone(args), name))
		}
	}
	visit(nil)
}

// subcommands lists the commands of Cruster's own below a command.
func subcommands(t *testing.T, args []string) []string {
	t.Helper()
	root := newApp(Process{
		Stdin: strings.NewReader(""), Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{},
	}).rootCommand()
	cmd, _, err := root.Find(args)
	require.NoError(t, err)
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte(" \n"), 0o600))

	for want, args := range map[string][]string{
		"error: FILE is missing\nusage: cruster-host module push FILE": {"module", "push"},
		"error: NAME is missing\nusage: cruster-host deferred resolve EXECUTION NAME": {
			"deferred", "resolve", "a/B/c",
		},
		"error: the argument \"x\" is one too many\nusage: cruster-host module list": {
			"module", "list", "x",
		},
		"error: the argument \"CR-2\" is one too many\nusage: cruster-host errors [CODE]": {
			"errors", "CR-1", "CR-2",
		},
		"error: --addr is where other commands look for a host: dev listens on --grpc-addr\n": {
			"dev", "--addr", "127.0.0.1:1",
		},
		"error: \"http://127.0.0.1:7600\" is not an address of a host: write HOST:PORT": {
			"module", "list", "--addr", "http://127.0.0.1:7600",
		},
		"error: \"localhost\" is not an address of a host: write HOST:PORT": {
			"module", "list", "--addr", "localhost",
		},
		"error: --namespace is empty; leave it out for the namespace \"default\"\n": {
			"module", "list", "-n", "",
		},
		"error: standard input is empty: it must hold JSON\n": {
			"workflow", "start", "a/B", "--input", "-",
		},
		"error: " + empty +
			" is empty: it must hold JSON\n": {"workflow", "start", "a/B", "--input-file", empty},
		"error: cannot read the module: stat /nonexistent.wasm: no such file or directory\n": {
			"module", "push", "/nonexistent.wasm", "--name", "x",
		},
		"error: unknown flag: --inptu; did you mean \"--input\"?\n": {
			"workflow", "start", "a/B", "--inptu", "1",
		},
		"error: unknown flag: --adrr; did you mean \"--addr\"?\n": {
			"module", "list", "--adrr=x",
		},
		"error: unknown flag: --colour\n": {"module", "list", "--colour"},
		"error: there is no command \"cruster-host workflow exec\"; did you mean execute?\nhint: ": {
			"workflow", "exec",
		},
	} {
		code, stdout, stderr := invoke(t, args...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.True(t, strings.HasPrefix(stderr, want), "%v: %s", args, stderr)
	}
}
