package clients

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/internal/harness"
)

// A program in Go deploys a module and follows an execution of it; the other clients leave that to
// the command line.
func TestPushAndFollow(t *testing.T) {
	t.Parallel()
	module := filepath.Join(t.TempDir(), "orders.wasm")
	require.NoError(t, os.WriteFile(module, harness.Module(t, "modules/examples/orders"), 0o600))
	p := hostOf(t)
	r := run(t, exec.Command(buildGo(t, "push")), "CRUSTER_ADDR="+p.GRPC, "CRUSTER_MODULE="+module)
	r.says("deployed orders, 0 moved", "orders/ProcessOrder/42 is completed")
	r.ends()
}
