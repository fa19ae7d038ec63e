package entities

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

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/extenttest"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

const (
	accounts     = 100
	opening      = 300 // little enough that some transfers find too little
	transferring = 32  // clients that start transfers, and wait for them
)

// transferLoad is how many transfers there are at the same time, and how often the host is killed, for each language on
// each store. In full they take an hour or so; -run chooses among them:
//
//	CRUSTER_TEST_EXTENT=full go test -v -timeout 4h -run 'TestTransfersUnderLocks/rust/postgres' ./tests/entities
func transferLoad() (transfers, kills int) {
	return extenttest.Sized(10_000, 160), extenttest.Sized(12, 3)
}

// transfer is the request of a test, as tests/guests/transfers has it.
type transfer struct {
	Cents int64  `json:"cents"`
	From  string `json:"from"`
	Leave bool   `json:"leave"`
	To    string `json:"to"`
}

// TestTransfersUnderLocks: workflows that lock two of a hundred accounts, in any order, read both and write both, while
// the host is killed again and again. All come to an end, every account has the sum of its transfers, and no lock is
// left over. The seed decides about payers and payees, and after how many the host is killed; CRUSTER_SEED repeats it.
func TestTransfersUnderLocks(t *testing.T) {
	t.Parallel()
	seed := harness.Seed(t)
	for language, below := range map[string]string{"go": "", "rust": "/rust"} {
		t.Run(language+"/sqlite", func(t *testing.T) {
			t.Parallel()
			transferAll(t, seed, below, harness.NewProcess(t, "sqlite:"+t.TempDir()))
		})
		t.Run(language+"/postgres", func(t *testing.T) {
			t.Parallel()
			transferAll(t, seed, below, harness.NewProcess(t, pgtest.DSN(t), "--schema", pgtest.Schema(t)))
		})
	}
}

func transferAll(t *testing.T, seed uint64, below string, p *harness.Process) {
	p.Start()
	// a call may meet all kills, and no host may have it for long in between
	c := dial(t, p, client.WithRetryFor(time.Hour))
	_, err := c.Push(t.Context(), client.PushRequest{
		Name: "transfers", Binary: harness.Module(t, "tests/guests/transfers"+below),
	})
	require.NoError(t, err)
	for i := range accounts {
		_, err := client.Operation[int64, int64](c, "transfers/Account", "put").On(accountID(i)).WithRequestID(
			"opening",
		).Call(t.Context(), opening)
		require.NoError(t, err)
	}
	transfers, kills := transferLoad()
	all := drawTransfers(harness.Random(t, seed, "transfers"), transfers)
	m := &movements{moved: make([]bool, len(all)), done: make(chan struct{}, len(all))}
	var clients sync.WaitGroup
	for range transferring {
		clients.Go(func() { m.perform(t.Context(), c, all) })
	}
	moments := harness.Random(t, seed, "kills")
	for range kills {
		for range 1 + moments.IntN(len(all)/(2*kills)) {
			<-m.done
		}
		p.Kill()
		p.Start()
	}
	clients.Wait()
	t.Logf("the host was killed %d times", kills)
	m.check(t, c, all)
}

func accountID(i int) string { return fmt.Sprint("account-", i) }

func drawTransfers(random *rand.Rand, n int) []transfer {
	all := make([]transfer, n)
	for i := range all {
		from := random.IntN(accounts)
		to := (from + 1 + random.IntN(accounts-1)) % accounts
		all[i] = transfer{
			Cents: random.Int64N(200), From: accountID(from), Leave: random.IntN(4) == 0, To: accountID(to),
		}
	}
	return all
}

// movements are the outcomes of transfers.
type movements struct {
	started, awaited atomic.Int64 // the next of each
	moved            []bool       // by transfer; each is written by one client
	done             chan struct{}

	mu    sync.Mutex
	wrong []error // guarded by mu
}

// perform starts transfers until all are, and then waits for them until all are over.
func (m *movements) perform(ctx context.Context, c *client.Client, all []transfer) {
	workflow := client.Workflow[transfer, bool](c, "transfers/Transfer")
	for i := m.started.Add(1) - 1; i < int64(len(all)); i = m.started.Add(1) - 1 {
		if _, err := workflow.WithKeyRaw(fmt.Sprint(i)).Start(ctx, all[i]); err != nil {
			m.fail(fmt.Errorf("start transfer %d: %w", i, err))
		}
	}
	for i := m.awaited.Add(1) - 1; i < int64(len(all)); i = m.awaited.Add(1) - 1 {
		moved, err := workflow.WithKeyRaw(fmt.Sprint(i)).Execute(ctx, all[i])
		if err != nil {
			m.fail(fmt.Errorf("transfer %d: %w", i, err))
		}
		m.moved[i] = moved
		m.done <- struct{}{}
	}
}

func (m *movements) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wrong = append(m.wrong, err)
}

// check holds the accounts against the transfers that say that they have moved something.
func (m *movements) check(t *testing.T, c *client.Client, all []transfer) {
	t.Helper()
	require.Empty(t, m.wrong)
	want, count := map[string]int64{}, 0
	for i, r := range all {
		if m.moved[i] {
			want[r.From] -= r.Cents
			want[r.To] += r.Cents
			count++
		}
	}
	t.Logf("%d transfers, %d of them moved something", len(all), count)
	sum := int64(0)
	for i := range accounts {
		cents, err := client.Operation[object, int64](c, "transfers/Account", "balance").On(accountID(i)).Call(
			t.Context(), object{},
		)
		require.NoError(t, err)
		require.Equal(t, opening+want[accountID(i)], cents, accountID(i))
		sum += cents
	}
	require.EqualValues(t, accounts*opening, sum)
	locks, err := c.Entities().ListEntityLocks(t.Context(), &crusterv1.ListEntityLocksRequest{PageSize: 1000})
	require.NoError(t, err)
	require.Empty(t, locks.GetLocks(), "a lock is left over")
}
