package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// Batches of several hosts' worth of writers meet on the same few rows, with every sort of write, while retention
// sweeps beside them. A batch may collide and be repeated; nothing that was acknowledged is lost, and nothing that was
// refused is there.
func TestOverlappingBatches(t *testing.T) {
	t.Parallel()
	b := setup(t, postgres.Config{MaxConns: 6})
	const writers, rounds, keys = 5, 25, 8
	var seq atomic.Uint64
	var started, settled, written [keys]atomic.Int64
	ids := [keys]journal.ID{}
	for i := range ids {
		ids[i] = journal.IDOf("default", "bank/Transfer", fmt.Sprint("shared ", i))
	}
	draw := func(rng *rand.Rand) (int, journal.Write) {
		i := rng.IntN(keys)
		w := journal.Write{ID: ids[i], Run: journal.RunID(ids[i]), Fence: b.fences[ids[i].Shard()]}
		switch rng.IntN(6) {
		case 0:
			w.Start = &journal.Execution{ID: ids[i], Run: w.Run, Namespace: "default", State: journal.Running}
		case 1:
			w.Receive = (&journal.Deferred{Name: "one"}).Message()
		case 2:
			w.Receive = &journal.Message{
				Envelope: journal.Envelope{Kind: journal.InterruptMessage, Origin: journal.Origin{1}},
			}
			fallthrough
		default:
			w.Entries = []journal.Entry{{Seq: seq.Add(1), Kind: journal.Delivery, Value: abi.Nil}}
			if rng.IntN(2) == 0 {
				w.Update = &journal.Update{State: journal.Running, WakeAt: rng.Int64N(100)}
			}
		}
		return i, w
	}
	var group errgroup.Group
	for writer := range writers {
		rng := rand.New(rand.NewPCG(uint64(writer), 1))
		group.Go(func() error {
			for range rounds {
				which := make([]int, 1+rng.IntN(12))
				writes := make([]journal.Write, len(which))
				for n := range writes {
					which[n], writes[n] = draw(rng)
				}
				results, err := b.store.Commit(t.Context(), writes)
				for isConflict(err) {
					results, err = b.store.Commit(t.Context(), writes)
				}
				if err != nil {
					return err
				}
				for n, result := range results {
					switch i := which[n]; {
					case result.Err != nil && !errors.Is(result.Err, journal.ErrNotFound):
						return result.Err
					case result.Err != nil || result.Existed:
					case writes[n].Start != nil:
						started[i].Add(1)
					case writes[n].Receive != nil && writes[n].Receive.Kind == journal.SettleMessage:
						settled[i].Add(1)
					default:
						written[i].Add(1)
					}
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		for range rounds {
			if _, err := b.store.Sweep(t.Context(), b.fences, journal.Never, 10); err != nil && !isConflict(err) {
				return err
			}
		}
		return nil
	})
	require.NoError(t, group.Wait())
	for i, id := range ids {
		require.EqualValues(t, 1, started[i].Load(), "one start wins")
		require.LessOrEqual(t, settled[i].Load(), int64(1))
		entries, _, err := b.store.Entries(t.Context(), journal.KeyOf(id, journal.RunID(id)), 0, journal.PageLimit{
			Entries: 10_000, Bytes: 1 << 30,
		})
		require.NoError(t, err)
		require.Len(t, entries, int(written[i].Load()))
		deferreds, err := journal.ListSettlements(t.Context(), b.store, journal.SettlementsOf(id, journal.RunID(id)))
		require.NoError(t, err)
		require.Len(t, deferreds, int(settled[i].Load()))
	}
}
