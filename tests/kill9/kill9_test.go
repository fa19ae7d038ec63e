// Package kill9_test kills the real binary with SIGKILL under load, again and again, and then checks every promise that
// was made to a client: starts, settles, interrupts and results that were acknowledged, and calls to the world outside.
// Start reading at kill9_test.go; load_test.go has the clients, check_test.go the final checks.
package kill9_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

const (
	clients  = 6
	accounts = 10
	opening  = 1_000
)

// TestKillNineLosesNothing kills hosts under load. The seed decides about the clients' requests and when the host is
// killed; CRUSTER_SEED repeats it. CRUSTER_KILLS says how often each host is killed.
func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	seed := harness.Seed(t)
	for language, below := range map[string]string{"go": "", "rust": "/rust"} {
		t.Run(language+"/sqlite", func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			hammer(t, seed, below, harness.NewProcess(t, "sqlite:"+dir), func() (journal.Store, error) {
				return sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
			})
		})
		t.Run(language+"/postgres", func(t *testing.T) {
			t.Parallel()
			dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
			hammer(t, seed, below, harness.NewProcess(t, dsn, "--schema", schema), func() (journal.Store, error) {
				return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
			})
		})
	}
}

// hammer runs a host under load, and kills and restarts it again and again. Then it lets everything finish and checks
// the answers of the host and the store.
func hammer(t *testing.T, seed uint64, below string, p *harness.Process, open func() (journal.Store, error)) {
	payments := startPayments(t)
	p.Start()
	c := dial(t, p)
	for _, example := range []string{"approval", "orders", "transfer"} {
		_, err := c.Push(t.Context(), client.PushRequest{
			Name:      example,
			Binary:    harness.Module(t, "modules/examples/"+example+below),
			Config:    map[string]string{"payments_url": payments.url},
			AllowHTTP: []string{strings.TrimPrefix(payments.url, "http://")},
		})
		require.NoError(t, err)
	}
	for i := range accounts {
		_, err := client.Workflow[object, object](c, "transfer/OpenAccount").
			Execute(t.Context(), object{"account": account(i), "balance_cents": opening})
		require.NoError(t, err)
	}

	load := startLoad(t, seed, p)
	leave := startOperator(t, p)
	moments := harness.Random(t, seed, "kills")
	kills := killsOr(t, 25)
	for range kills {
		load.awaitAcknowledged()
		time.Sleep(time.Duration(moments.IntN(300)) * time.Millisecond) // a random moment
		p.Kill()
		p.Start()
	}
	t.Logf("%d kills", kills)
	records := load.stop()
	leave()
	require.Greater(t, len(records), kills, "there was too little load for the test to prove anything")
	checkHost(t, dial(t, p), records)
	p.Kill()

	s, err := open()
	require.NoError(t, err)
	defer s.Close()
	checkStore(t, s, records, payments)
}

func dial(t *testing.T, p *harness.Process) *client.Client {
	c, err := client.Dial(p.GRPC, client.WithRetryFor(harness.Patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func account(i int) string { return fmt.Sprintf("account-%d", i%accounts) }
