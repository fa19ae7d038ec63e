package cli

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

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
		{"deferred", "resolve", "approval/RequestApproval/yes", "approved", "--input", `{"approved":true,"by":"ada"}`},
		{"deferred", "reject", "approval/RequestApproval/no", "approved", "--error", "not signed"},
		{"module", "push", filepath.Join(modules, "orders.wasm"), "--name", "orders"},
	} {
		p.Kill()
		var out bytes.Buffer
		cmd := command(p, &out, args...)
		exited := hangUpOnce(t, p.GRPC, cmd, &out)
		p.Start()
		require.NoError(t, <-exited, "%s\n%s", args, &out)
		require.Contains(t, out.String(), "no host answers at "+p.GRPC+"; trying for ")
	}
	require.Contains(t, run("workflow", "wait", "approval/RequestApproval/yes"), `"status": "approved"`)
	require.Contains(t, run("workflow", "wait", "approval/RequestApproval/no"), `"status": "rejected"`)
	require.Contains(t, run("module", "list"), "orders")
}

// hangUpOnce starts a command, and proves that it looked for a host in vain: it answers the first
// connection that is made to the address, closes it, and answers no other. It returns how the
// command ends.
func hangUpOnce(t *testing.T, addr string, cmd *exec.Cmd, out *bytes.Buffer) <-chan error {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	defer l.Close()
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(harness.Patience)))
	require.NoError(t, cmd.Start())
	exited, accepted := make(chan error, 1), make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	select {
	case err = <-accepted:
		if err == nil {
			return exited
		}
		require.NoError(t, cmd.Process.Kill())
		<-exited // out is whole
	case err = <-exited:
	}
	require.FailNow(t, "the command looked for no host", "%v\n%s", err, out)
	return nil
}

func command(p *harness.Process, out *bytes.Buffer, args ...string) *exec.Cmd {
	cmd := exec.Command(
		filepath.Join(built, "bin", "cruster-host"),
		append(args, "--addr", p.GRPC, "--retry-for", harness.Patience.String())...,
	)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd
}
