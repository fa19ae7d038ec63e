package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/cmd/cruster-host/internal/devloop"
)

// TestWatchSaysThatItDeploys: a large module takes the host seconds. What the screen suggests is
// typed in another terminal, and names the host whatever the environment of this one is.
func TestWatchSaysThatItDeploys(t *testing.T) {
	t.Parallel()
	addr := (&fakeHost{}).start(t)
	for output, want := range map[string][]string{
		"table": {"shop: deploying\n", " --to latest --addr " + addr, "shop: deployed version 2"},
		"jsonl": {`"event":"deploying","file":"shop.wasm"}`, `"event":"deployed"`},
	} {
		var screen strings.Builder
		a := newApp(Process{LookupEnv: environment("CRUSTER_ADDR=" + addr), Stdout: &screen})
		a.addr, a.namespace, a.output = addr, defaultNamespace, output
		require.NoError(t, a.withClient(func(c *client.Client) error {
			return (&watchScreen{app: a}).deploy(t.Context(), c, devloop.Source{Name: "shop"}, "shop.wasm", []byte("module"))
		}))
		rest := screen.String()
		for _, part := range want {
			_, after, found := strings.Cut(rest, part)
			require.True(t, found, "%q is not in, or not in its place:\n%s", part, &screen)
			rest = after
		}
	}
}
