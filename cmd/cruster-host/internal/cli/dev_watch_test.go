package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/devloop"
)

// TestWatchSaysThatItDeploys: a large module takes the host seconds. Suggested commands are typed
// in another terminal, and names the host whatever the environment of this one is.
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
			return (&watchScreen{app: a}).deploy(
				t.Context(), c, devloop.Source{Name: "shop"}, "shop.wasm", []byte("module"),
			)
		}))
		rest := screen.String()
		for _, part := range want {
			_, after, found := strings.Cut(rest, part)
			require.True(t, found, "%q is not in, or not in its place:\n%s", part, &screen)
			rest = after
		}
	}
}

// watched holds the screen's output about deployments, one after the other, and the requests to the
// host.
func watched(t *testing.T, deployments ...string) (screen string, asked []string) {
	t.Helper()
	host := &fakeHost{}
	var out strings.Builder
	a := newApp(Process{LookupEnv: environment(), Stdout: &out})
	a.addr, a.namespace, a.output = host.start(t), defaultNamespace, "table"
	w := &watchScreen{app: a}
	require.NoError(t, a.withClient(func(c *client.Client) error {
		for _, name := range deployments {
			if err := w.deploy(t.Context(), c, devloop.Source{Name: name}, name+".wasm", []byte("module")); err != nil {
				return err
			}
		}
		return nil
	}))
	return strings.ReplaceAll(out.String(), " --addr "+a.addr, ""), host.forget()
}

// TestWatchLeavesADeployedModuleAlone, and says once how it is run.
func TestWatchLeavesADeployedModuleAlone(t *testing.T) {
	t.Parallel()
	screen, asked := watched(t, "same", "same")
	require.Equal(t, `same: unchanged: it is deployed already, as version 2, digest 120970d81283
same: next:  cruster-host workflow execute same/Buy --input '{"price":1}'
same: unchanged: it is deployed already, as version 2, digest 120970d81283
`, screen)
	require.Len(t, asked, 2, "it is asked for what is deployed, and for nothing else: %q", asked)
}

// TestWatchSkipsEndlessTurns: a check of them takes as long as they may run, on each save.
func TestWatchSkipsEndlessTurns(t *testing.T) {
	t.Parallel()
	screen, asked := watched(t, "slow")
	require.Contains(
		t,
		screen,
		`slow: 1 of 1 open executions are paused because a turn ran for too long, and were not tried on this code
  to try one:                 cruster-host workflow move slow/Buy/loop --to latest
`,
	)
	for _, call := range asked {
		require.NotContains(t, call, "DeploymentService/CheckModule")
	}
	// Where others are open the check ends before the skipped ones, which come last.
	screen, _ = watched(t, "mixed")
	require.Contains(t, screen, "mixed: 1 of 2 open executions are paused because a turn ran for too long")
	require.Contains(t, screen, "mixed: 1 of 2 open executions fit this code")
}
