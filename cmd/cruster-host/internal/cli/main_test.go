package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/host"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// invoke runs the program as a process would.
func invoke(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), args, strings.NewReader(""), &out, &errs, "")
	return code, out.String(), errs.String()
}

func TestEveryVerbExplainsItself(t *testing.T) {
	t.Parallel()

	var visit func(args []string)
	visit = func(args []string) {
		code, help, _ := invoke(t, append(args, "--help")...)
		require.Zero(t, code, args)
		verbs := subcommands(t, args)
		if len(verbs) == 0 {
			require.Contains(t, help, "Examples:", "%v has no example", args)
		}
		for _, verb := range verbs {
			visit(append(slices.Clone(args), verb))
		}
	}
	visit(nil)
}

// subcommands lists the verbs of Cruster's own below a command.
func subcommands(t *testing.T, args []string) []string {
	t.Helper()
	root := (&app{stdin: strings.NewReader(""), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}).rootCommand()
	cmd, _, err := root.Find(args)
	require.NoError(t, err)
	var names []string
	for _, sub := range cmd.Commands() {
		names = append(names, sub.Name())
	}
	return names
}

func TestExitCodes(t *testing.T) {
	t.Parallel()

	for want, errs := range map[int][]error{
		exitOK:          {nil},
		exitInternal:    {errors.New("x"), abi.Errorf(abi.CodeInternal, "x")},
		exitSignal:      {context.Canceled, fmt.Errorf("y: %w", context.Canceled)},
		exitUsage:       {usagef("x"), abi.Errorf(abi.CodeBadInput, "x"), abi.Errorf(abi.CodeDeferredSettled, "x"), abi.Errorf(abi.CodeNotPaused, "x")},
		exitNotFound:    {abi.Errorf(abi.CodeExecutionNotFound, "x"), fmt.Errorf("y: %w", abi.Errorf(abi.CodeUnknownWorkflow, "x"))},
		exitFailed:      {&client.RunError{State: client.Failed, Cause: abi.Errorf(abi.CodeDeadline, "x")}, &client.RunError{State: client.Interrupted, Cause: abi.Errorf(abi.CodeInterrupted, "x")}},
		exitPaused:      {&client.RunError{State: client.Paused, Cause: abi.Errorf(abi.CodeNondeterminism, "x")}, abi.Errorf(abi.CodePaused, "x")},
		exitUnavailable: {abi.Errorf(abi.CodeUnreachable, "x"), abi.Errorf(abi.CodeOverloaded, "x"), abi.Errorf(abi.CodeShuttingDown, "x")},
		exitDeadline:    {abi.Errorf(abi.CodeDeadline, "x")},
	} {
		for _, err := range errs {
			require.Equal(t, want, exitCode(err), "%v", err)
		}
	}
}

func TestReportsNameCodeAndHint(t *testing.T) {
	t.Parallel()

	for want, err := range map[string]error{
		"error: CR-2004: none\nhint: h\n":                                                                abi.Errorf(abi.CodeExecutionNotFound, "none").WithHint("h"),
		"error: CR-2006: a/B/c failed: no\ntype: t\n":                                                    &client.RunError{Execution: "a/B/c", State: client.Failed, Cause: &abi.Error{Code: abi.CodeWorkflowFailed, Message: "no", Type: "t"}},
		"error: a/B/c is paused: no\nnext: cruster-host workflow resume a/B/c, once the cause is gone\n": &client.RunError{Execution: "a/B/c", State: client.Paused, Cause: &abi.Error{Message: "no"}},
		"error: stopped before the host answered\nhint: What the host was asked to do goes on: run the command again to see how it ends.\n": context.Canceled,
		"error: CR-2006: a/B/c failed: pay: CR-3201: no\nhint: " + abi.CodeHTTPForbidden.Info().Hint + "\n":                                 &client.RunError{Execution: "a/B/c", State: client.Failed, Cause: abi.Errorf(abi.CodeWorkflowFailed, "pay: CR-3201: no")},
		"error: CR-2020: a/B/c failed: no; CR-2010: it crashes\nhint: " + abi.CodeFailedByOperator.Info().Hint + "\n":                       &client.RunError{Execution: "a/B/c", State: client.Failed, Cause: abi.Errorf(abi.CodeFailedByOperator, "no; CR-2010: it crashes")},
		"error: no file\n": inputf("no file"),
		"error: oh\nhint: add --help to the command to see how it is used\n": usagef("oh"),
	} {
		var out strings.Builder
		report(&out, err)
		require.Equal(t, want, out.String())
	}
}

func TestUnreachableHost(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	code, stdout, stderr := invoke(t, "workflow", "poll", "a/B/c", "--addr", l.Addr().String(), "--retry-for", "0s")
	require.Equal(t, exitUnavailable, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "error: CR-5010: no host answers at "+l.Addr().String()+": ")
	require.Contains(t, stderr, "hint: ")
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.json")
	require.NoError(t, os.WriteFile(empty, []byte(" \n"), 0o600))

	for want, args := range map[string][]string{
		"error: FILE is missing\nusage: cruster-host module push FILE":                             {"module", "push"},
		"error: NAME is missing\nusage: cruster-host deferred resolve EXECUTION NAME":              {"deferred", "resolve", "a/B/c"},
		"error: there is no place for the argument \"x\"\nusage: cruster-host module list":         {"module", "list", "x"},
		"error: there is no place for the argument \"CR-2\"\nusage: cruster-host errors [CODE]":    {"errors", "CR-1", "CR-2"},
		"error: --addr is where other commands look for a host: dev listens on --grpc-addr\n":      {"dev", "--addr", "127.0.0.1:1"},
		"error: \"http://127.0.0.1:7600\" is no address of a host: write HOST:PORT":                {"module", "list", "--addr", "http://127.0.0.1:7600"},
		"error: \"localhost\" is no address of a host: write HOST:PORT":                            {"module", "list", "--addr", "localhost"},
		"error: standard input is empty: it must hold JSON\n":                                      {"workflow", "start", "a/B", "--input", "-"},
		"error: " + empty + " is empty: it must hold JSON\n":                                       {"workflow", "start", "a/B", "--input-file", empty},
		"error: cannot read the module: stat /nonexistent.wasm: no such file or directory\n":       {"module", "push", "/nonexistent.wasm", "--name", "x"},
		"error: there is no command \"cruster-host workflow exec\"; did you mean execute?\nhint: ": {"workflow", "exec"},
	} {
		code, stdout, stderr := invoke(t, args...)
		require.Equal(t, exitUsage, code, args)
		require.Empty(t, stdout, args)
		require.True(t, strings.HasPrefix(stderr, want), "%v: %s", args, stderr)
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	for _, addr := range []string{"127.0.0.1:7600", "[::1]:7600", "localhost:7600", ":7600", "unix:/run/cruster.sock", "dns:///cruster:7600"} {
		require.NoError(t, checkAddr(addr), addr)
	}
	for _, addr := range []string{"", "localhost", "localhost:", "https://cruster:7600", "cruster:7600/x:1", "a b:1"} {
		require.Error(t, checkAddr(addr), addr)
	}
}

func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	code, _, stderr := invoke(t, "dev", "--data-dir", file, "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "error: CR-5007: the store does not open: ")
	require.Contains(t, stderr, "hint: Choose a folder that this user may write to")
}

func TestLinesAlignValuesOfManyLines(t *testing.T) {
	t.Parallel()
	var out strings.Builder

	require.NoError(t, (&app{stdout: &out}).lines(line{"input", "{\n  \"a\": 1\n}"}, line{"nothing", ""}, line{"state", "running"}))
	require.Equal(t, "input:  {\n          \"a\": 1\n        }\nstate:  running\n", out.String())
}

func TestSizes(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int64{"64MiB": 64 << 20, "32M": 32 << 20, "1GiB": 1 << 30, "2K": 2048, "1000": 1000} {
		var s size
		require.NoError(t, s.Set(text))
		require.EqualValues(t, want, s)
	}
	for _, text := range []string{"", "lots", "-1", "0", "1TiB", "9223372036854775807GiB", "1.5M"} {
		var s size
		require.Error(t, s.Set(text), text)
	}
	s := size(64 << 20)
	require.Equal(t, "64MiB", s.String())
}

func TestStoreSpecs(t *testing.T) {
	t.Parallel()

	spec, err := parseStore("sqlite:./x", "")
	require.NoError(t, err)
	require.Equal(t, "./x", spec.dir)
	spec, err = parseStore("postgres://u:p@h/d", "s")
	require.NoError(t, err)
	require.Equal(t, "s", spec.schema)
	for _, text := range []string{"", "sqlite:", "mysql://u:hunter2@h/d", "/var/lib"} {
		_, err := parseStore(text, "")
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestFaultSpecs(t *testing.T) {
	t.Parallel()

	hook, err := faultPoint("")
	require.NoError(t, err)
	require.Nil(t, hook)
	hook, err = faultPoint(host.FaultPoints[0] + "@2")
	require.NoError(t, err)
	hook(host.FaultPoints[0]) // the first passing of two
	hook(host.FaultPoints[1])
	for _, spec := range []string{"x", "nowhere@1", host.FaultPoints[0], host.FaultPoints[0] + "@0", host.FaultPoints[0] + "@x"} {
		_, err := faultPoint(spec)
		require.Error(t, err, spec)
	}
}

func TestSchemasAreReadable(t *testing.T) {
	t.Parallel()

	s := &crusterv1.Schema{Type: "struct", Fields: []*crusterv1.Field{
		{Name: "items", Required: true, Schema: &crusterv1.Schema{Type: "list", Elem: &crusterv1.Schema{Type: "struct", Fields: []*crusterv1.Field{
			{Name: "n", Required: true, Schema: &crusterv1.Schema{Type: "int", Bits: 32}},
		}}}},
		{Name: "note", Schema: &crusterv1.Schema{Type: "string", Nullable: true}},
		{Name: "tags", Required: true, Schema: &crusterv1.Schema{Type: "map", Elem: &crusterv1.Schema{Type: "bytes"}}},
		{Name: "wishes", Required: true, Schema: &crusterv1.Schema{Type: "list", Nullable: true, Elem: &crusterv1.Schema{Type: "bool", Nullable: true}}},
	}}
	require.Equal(t, `{
  items: list of {
    n: int32
  }
  note?: string or null
  tags: map of string to bytes (base64)
  wishes: list of (bool or null) or null
}`, renderSchema(s, ""))
	require.JSONEq(t, `{"items":[{"n":1}],"tags":{"…":""},"wishes":[false]}`, sampleInput(s))
	require.Equal(t, "any", renderSchema(nil, ""))
}

func TestShellWords(t *testing.T) {
	t.Parallel()

	require.Equal(t, "a/B/c-1", quoteShell("a/B/c-1"))
	require.Equal(t, `'it'\''s $HOME'`, quoteShell("it's $HOME"))
	require.Equal(t, "''", quoteShell(""))
}

func TestTablesKeepControlCharactersOut(t *testing.T) {
	t.Parallel()

	require.Equal(t, "a b [31mc", oneLine("a\nb\x1b[31mc"))
	require.Equal(t, "-", oneLine(""))
}

func TestErrorsPageIsUpToDate(t *testing.T) {
	t.Parallel()

	code, page, _ := invoke(t, "errors", "-o", "markdown")
	require.Zero(t, code)
	for _, c := range abi.Codes {
		require.Contains(t, page, "| "+string(c.Code)+" |")
	}
	committed, err := os.ReadFile("../../../../docs/errors.md")
	require.NoError(t, err)
	require.Equal(t, page, string(committed), "run: go run ./cmd/cruster-host errors -o markdown > docs/errors.md")
}

func TestErrorsAsJSONLines(t *testing.T) {
	t.Parallel()

	code, out, _ := invoke(t, "errors", "-o", "jsonl")
	require.Zero(t, code)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, len(abi.Codes))
	for _, l := range lines {
		require.True(t, json.Valid([]byte(l)))
	}
}
