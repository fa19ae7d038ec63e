// Package kill9_test kills the real binary with SIGKILL under load, again and
// again, and then checks every promise that was made to a client.
package kill9_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/client"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/sqlite"
)

func TestMain(m *testing.M) {
	os.Exit(pgtest.Main(m))
}

type object = map[string]any

const (
	kills    = 50
	clients  = 6
	accounts = 10
	opening  = 1_000
)

func TestKillNineLosesNothing(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		hammer(t, "sqlite:"+dir, nil, func() (journal.Store, error) {
			return sqlite.Open(t.Context(), sqlite.Config{Dir: dir})
		})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgtest.DSN(t), pgtest.Schema(t)
		hammer(t, dsn, []string{"--schema", schema}, func() (journal.Store, error) {
			return postgres.Open(t.Context(), postgres.Config{DSN: dsn, Schema: schema})
		})
	})
}

// hammer runs a host under load, and kills and restarts it again and again. Then it
// lets everything finish and checks the store.
func hammer(t *testing.T, store string, args []string, open func() (journal.Store, error)) {
	p := harness.NewProcess(t, store, args...)
	p.Start()
	c := dial(t, p)
	push(t, c, "orders")
	push(t, c, "transfer")
	for i := range accounts {
		_, err := client.Workflow[object, object](c, "transfer/OpenAccount").
			Execute(t.Context(), object{"account": account(i), "balance_cents": opening})
		require.NoError(t, err)
	}

	load := startLoad(t, p)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range kills {
		load.awaitAcknowledged()
		// Kill the host at a random moment.
		time.Sleep(time.Duration(random.IntN(300)) * time.Millisecond)
		p.Kill()
		p.Start()
	}
	acknowledged := load.stop()
	require.Greater(t, len(acknowledged), kills, "there was too little load for the test to prove anything")
	awaitAll(t, p, acknowledged)
	p.Kill()

	s, err := open()
	require.NoError(t, err)
	defer s.Close()
	checkStore(t, s, acknowledged)
}

// load is a group of clients that start workflows and record which starts were
// acknowledged.
type load struct {
	stopped atomic.Bool
	news    chan struct{} // receives after a start was acknowledged
	wait    sync.WaitGroup
	mu      sync.Mutex
	names   []string // guarded by mu
}

func startLoad(t *testing.T, p *harness.Process) *load {
	l := &load{news: make(chan struct{}, 1)}
	for i := range clients {
		l.wait.Add(1)
		c := dial(t, p)
		go func() {
			defer l.wait.Done()
			for n := 0; !l.stopped.Load(); n++ {
				l.startOne(c, fmt.Sprintf("c%d-%d", i, n), i, n)
			}
		}()
	}
	return l
}

// startOne starts an order or a transfer. Only an acknowledged start is recorded: a
// start without a reply may have taken effect or not.
func (l *load) startOne(c *client.Client, key string, i, n int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var run client.Run[object]
	var err error
	if n%2 == 0 {
		run, err = client.Workflow[object, object](c, "orders/ProcessOrder").Start(ctx, object{
			"order_id": key, "email": "a@example.com", "cooling_off_ms": 20,
			"items": []object{{"sku": "pear", "quantity": 1, "price_cents": 100}},
		})
	} else {
		run, err = client.Workflow[object, object](c, "transfer/Transfer").Start(ctx, object{
			"transfer_id": key, "from": account(i + n), "to": account(i + n + 1), "amount_cents": 1,
		})
	}
	if err == nil {
		l.mu.Lock()
		l.names = append(l.names, run.Execution())
		l.mu.Unlock()
		select {
		case l.news <- struct{}{}:
		default:
		}
	}
}

// awaitAcknowledged waits until the host serves clients. The first signal may be
// from before the last kill, the second is not.
func (l *load) awaitAcknowledged() {
	<-l.news
	<-l.news
}

func (l *load) stop() []string {
	l.stopped.Store(true)
	l.wait.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.names
}

// awaitAll waits for every acknowledged start to complete.
func awaitAll(t *testing.T, p *harness.Process, names []string) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*harness.Patience)
	defer cancel()
	c := dial(t, p)
	for _, name := range names {
		_, err := client.Attach[object](c, name).Wait(ctx)
		require.NoError(t, err, name)
	}
}

// checkStore checks in the store that everything happened exactly once.
func checkStore(t *testing.T, s journal.Store, names []string) {
	tx, err := s.BeginGuest(t.Context(), host.DefaultNamespace)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(context.Background())) }()
	query := func(sql string) [][]any {
		_, rows, err := tx.Query(t.Context(), sql, nil)
		require.NoError(t, err)
		return rows
	}
	require.Empty(t, query(`SELECT execution, step FROM order_effects GROUP BY execution, step HAVING COUNT(*) > 1`),
		"a step of an order took effect twice")
	require.Empty(t, query(`SELECT order_id FROM charges GROUP BY order_id HAVING COUNT(*) > 1`), "an order was charged twice")
	require.Empty(t, query(`SELECT transfer_id FROM ledger GROUP BY transfer_id HAVING COUNT(*) > 1`), "a transfer was booked twice")
	require.Equal(t, fmt.Sprint(accounts*opening), fmt.Sprint(query(`SELECT SUM(balance_cents) FROM accounts`)[0][0]), "money was made or lost")

	orders := map[string]bool{}
	for _, row := range query(`SELECT order_id FROM orders WHERE status = 'confirmed'`) {
		orders["orders/ProcessOrder/"+row[0].(string)] = true
	}
	for _, row := range query(`SELECT transfer_id FROM ledger`) {
		orders["transfer/Transfer/"+row[0].(string)] = true
	}
	for _, name := range names {
		require.True(t, orders[name], "%s was acknowledged but is not in the store", name)
	}
	t.Logf("%d acknowledged starts, %d kills, all finished, nothing doubled", len(names), kills)
}

func dial(t *testing.T, p *harness.Process) *client.Client {
	c, err := client.Dial(p.GRPC, client.WithRetryFor(harness.Patience))
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func push(t *testing.T, c *client.Client, example string) {
	_, err := c.Push(t.Context(), client.PushRequest{Name: example, Binary: harness.Module(t, "modules/examples/"+example)})
	require.NoError(t, err)
}

func account(i int) string { return fmt.Sprintf("account-%d", i%accounts) }
