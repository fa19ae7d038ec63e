package entities

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/internal/harness"
)

const (
	kills     = 12 // for each language
	clients   = 6
	tallies   = 3
	tallyType = "conformance/Tally"
)

// TestEntitiesAreLinearizable: one order of all operations, in which each comes between its call and its answer,
// explains every reply; and each request id has counted once. The seed decides about the requests of the clients,
// and after how many answers the host is killed; CRUSTER_SEED repeats it.
func TestEntitiesAreLinearizable(t *testing.T) {
	t.Parallel()
	seed := harness.Seed(t)
	for language, below := range map[string]string{"go": "", "rust": "/rust"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			p := harness.NewProcess(t, "sqlite:"+t.TempDir())
			p.Start()
			patient := dial(t, p, client.WithRetryFor(harness.Patience))
			_, err := patient.Push(t.Context(), client.PushRequest{
				Name: "conformance", Binary: harness.Module(t, "tests/guests/conformance"+below),
			})
			require.NoError(t, err)

			h := &history{news: make(chan struct{}, 1)}
			hammer(t, seed, p, h)
			h.check(t, patient)
		})
	}
}

// hammer has clients make requests while the host is killed again and again.
func hammer(t *testing.T, seed uint64, p *harness.Process, h *history) {
	t.Helper()
	var stopped atomic.Bool
	var all sync.WaitGroup
	for i := range clients {
		c := &caller{
			history: h, number: i, random: harness.Random(t, seed, fmt.Sprint("client", i)),
			patient: dial(t, p, client.WithRetryFor(harness.Patience)), hasty: dial(t, p, client.WithRetryFor(0)),
		}
		all.Go(func() {
			for n := 0; !stopped.Load(); n++ {
				c.one(n)
			}
		})
	}
	moments := harness.Random(t, seed, "kills")
	for range kills {
		// The first may be from before the last kill.
		for range 2 + moments.IntN(100) {
			<-h.news
		}
		p.Kill()
		p.Start()
	}
	stopped.Store(true)
	all.Wait()
}

// check compares the replies with the model, and repeats every request that counts: the ones not
// answered are performed by then, and no other again.
func (h *history) check(t *testing.T, c *client.Client) {
	t.Helper()
	for _, err := range h.wrong {
		require.NoError(t, err)
	}
	unknown := 0
	for i := range h.operations {
		if h.operations[i].Return == never {
			unknown++
		}
	}
	t.Logf(
		"%d kills, %d operations, %d of them with an unknown outcome, %d that count", kills, len(h.operations), unknown,
		len(h.counted),
	)
	require.Greater(t, len(h.operations), 10*kills, "there was too little load for the test to prove anything")
	require.True(
		t, porcupine.CheckOperations(model, h.operations),
		"no order of the operations explains what the clients were told",
	)

	for range 2 {
		for _, r := range h.counted {
			_, err := r.make(c)
			require.NoError(t, err, "%+v, repeated", r)
		}
	}
	sum, err := request{input: input{tally: once, name: "read"}, id: "last"}.make(c)
	require.NoError(t, err)
	require.EqualValues(t, len(h.counted), sum.n, "a request counted twice, or not at all")
}
