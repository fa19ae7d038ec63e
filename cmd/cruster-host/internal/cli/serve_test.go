package cli

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFoldersThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))

	code, _, stderr := invoke(t, "dev", "--data-dir", file, "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "error: CR-5007: the store does not open: ")
	require.Contains(t, stderr, "hint: Choose a folder that this user may write to")
}

// It starts a host as the command does, reads its screen, and stops it.
func TestFirstScreen(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for output, want := range map[string]string{
		"table": "Cruster:  v9.9.9\ngRPC:     127.0.0.1:",
		"jsonl": `{"grpc":"127.0.0.1:`,
	} {
		ctx, stop := context.WithCancel(t.Context())
		// The first line that the host writes ends it: everything is up by then.
		screen := &firstWrite{then: stop}
		code := Run(ctx, Process{
			Args: []string{
				"dev", "-o", output, "--data-dir", data, "--grpc-addr", "127.0.0.1:0", "--http-addr", "127.0.0.1:0",
				"--log-level", "error",
			},
			LookupEnv: environment(),
			Release:   "v9.9.9",
			Stderr:    screen.stderr(),
			Stdin:     strings.NewReader(""),
			Stdout:    screen,
		})
		require.Equal(t, exitOK, code, screen.errors.String())
		require.Contains(t, screen.text.String(), want)
		require.Contains(t, screen.text.String(), data)
	}
}

// TestFirstScreenNamesTheAddress: the next command is for another terminal, which does not have
// the environment of the host.
func TestFirstScreenNamesTheAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:7920": "--name NAME --addr 127.0.0.1:7920\n",
		defaultAddr:      "--name NAME\n",
	} {
		var screen strings.Builder
		a := newApp(Process{LookupEnv: environment("CRUSTER_ADDR=" + addr), Stdout: &screen})
		a.output, a.namespace = "table", defaultNamespace
		a.firstScreen(addr, "127.0.0.1:8600", "memory", nextCommand(nil))
		require.Contains(t, screen.String(), want)
	}
}

// The next command is for an existing deployment, if there is one.
func TestFirstScreenKnowsWhatIsDeployed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "module push FILE.wasm --name NAME", nextCommand(nil))
	require.Equal(t, "module describe shop", nextCommand([]string{"shop"}))
	require.Equal(t, "module list", nextCommand([]string{"bank", "shop"}))
}

// firstWrite keeps the written bytes, and calls then at the first write.
type firstWrite struct {
	text   strings.Builder
	errors strings.Builder
	then   func()
}

func (f *firstWrite) stderr() *strings.Builder { return &f.errors }

func (f *firstWrite) Write(p []byte) (int, error) {
	f.then()
	return f.text.Write(p)
}

// TestHostIsStoppedBeforeItRuns: Ctrl-C while a host waits for its address works as later: it was
// asked to stop, and has not failed.
func TestHostIsStoppedBeforeItRuns(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, errs strings.Builder
	code := Run(ctx, Process{
		Args: []string{
			"serve", "--store", "sqlite:" + t.TempDir(), "--grpc-addr", taken.Addr().String(), "--http-addr",
			"127.0.0.1:0",
		},
		LookupEnv: func(string) (string, bool) { return "", false },
		Stdin:     strings.NewReader(""), Stdout: &out, Stderr: &errs,
	})
	require.Equal(t, exitOK, code, errs.String())
	require.Empty(t, out.String())
	require.Empty(t, errs.String())
}
