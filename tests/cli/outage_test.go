package cli

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

// TestCommandsWaitOutARestart kills a host with -9 and runs commands before it is back. They may be
// sent only once, and so they wait until there is a host to send them to.
func TestCommandsWaitOutARestart(t *testing.T) {
	t.Parallel()
	p := harness.NewProcess(t, "sqlite:"+t.TempDir())
	p.Start()
	run := func(args ...string) string {
		t.Helper()
		var out bytes.Buffer
		cmd := command(p, &out, args...)
		require.NoError(t, cmd.Run(), &out)
		return out.String()
	}
	modules := filepath.Join(built, "modules")
	run("module", "push", filepath.Join(modules, "approval.wasm"), "--name", "approval")
	run("workflow", "start", "approval/RequestApproval", "--input", `{"document":"yes"}`)
	run("workflow", "start", "approval/RequestApproval", "--input", `{"document":"no"}`)

	for _, args := range [][]string{
		{"deferred", "resolve", "approval/RequestApproval/yes", "approved", "--value", `{"approved":true,"by":"ada"}`},
		{"deferred", "reject", "approval/RequestApproval/no", "approved", "--error", "not signed"},
		{"module", "push", filepath.Join(modules, "orders.wasm"), "--name", "orders"},
	} {
		p.Kill()
		var out bytes.Buffer
		cmd := command(p, &out, args...)
		hangUpOnce(t, p.GRPC, func() { require.NoError(t, cmd.Start()) })
		p.Start()
		require.NoError(t, cmd.Wait(), "%s\n%s", args, &out)
	}
	require.Contains(t, run("workflow", "wait", "approval/RequestApproval/yes"), `"status": "approved"`)
	require.Contains(t, run("workflow", "wait", "approval/RequestApproval/no"), `"status": "rejected"`)
	require.Contains(t, run("module", "list"), "orders")
}

// hangUpOnce proves that someone looked for a host in vain: it answers the first connection that
// is made to the address after start, closes it, and answers no other.
func hangUpOnce(t *testing.T, addr string, start func()) {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	defer l.Close()
	start()
	conn, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

func command(p *harness.Process, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(built, "bin", "cruster-host"), append(args, "--addr", p.GRPC, "--retry-for", harness.Patience.String())...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}
