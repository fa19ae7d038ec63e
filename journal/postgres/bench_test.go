package postgres_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
)

// BenchmarkCommit measures batches of steps: one entry and one update each.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store, err := postgres.Open(b.Context(), postgres.Config{DSN: pgtest.DSN(b), Schema: pgtest.Schema(b), Logger: slog.New(slog.DiscardHandler)})
			require.NoError(b, err)
			defer store.Close()
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			writes := make([]journal.Write, size)
			for i := range writes {
				id := journal.IDOf("default", "bench/W", fmt.Sprint(i))
				writes[i] = journal.Write{
					ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()],
					Start: &journal.Execution{ID: id, Run: journal.RunID(id), Namespace: "default", Workflow: "bench/W", Key: fmt.Sprint(i), State: journal.Running},
				}
			}
			_, err = store.Commit(b.Context(), writes)
			require.NoError(b, err)
			seq := uint64(0)
			for b.Loop() {
				seq++
				for i := range writes {
					writes[i].Start = nil
					writes[i].Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery, Op: journal.Op{Kind: "activity", Name: "step", Hash: make([]byte, 16)}, Value: abi.Nil}}
					writes[i].Update = &journal.Update{State: journal.Running, WakeAt: int64(seq)}
				}
				results, err := store.Commit(b.Context(), writes)
				if err != nil || results[0].Err != nil {
					b.Fatal(err, results[0].Err)
				}
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
