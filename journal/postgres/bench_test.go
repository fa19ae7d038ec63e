package postgres_test

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/internal/pgtest"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres"
	"github.com/cruster/cruster/journal/storetest"
)

// benchmarkStore is a store that is claimed.
func benchmarkStore(b *testing.B) (*postgres.Store, []journal.Fence) {
	store, err := postgres.Open(b.Context(), postgres.Config{
		DSN: pgtest.DSN(b), Schema: pgtest.Schema(b), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, store.Close()) })
	fences, err := store.ClaimShards(b.Context(), "bench")
	require.NoError(b, err)
	return store, fences
}

// BenchmarkCommit measures batches of steps: one entry and one update each.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{1, 16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store, fences := benchmarkStore(b)
			writes := make([]journal.Write, size)
			for i := range writes {
				id := journal.IDOf("default", "bench/W", fmt.Sprint(i))
				writes[i] = journal.Write{
					ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()],
					Start: &journal.Execution{
						ID:        id,
						Run:       journal.RunID(id),
						Namespace: "default",
						Workflow:  "bench/W",
						Key:       fmt.Sprint(i),
						State:     journal.Running,
					},
				}
			}
			_, err := store.Commit(b.Context(), writes)
			require.NoError(b, err)
			seq := uint64(0)
			for b.Loop() {
				seq++
				for i := range writes {
					writes[i].Start = nil
					writes[i].Entries = []journal.Entry{{
						Seq:   seq,
						Kind:  journal.Delivery,
						Op:    journal.Op{Kind: "activity", Name: "step", Hash: make([]byte, 16)},
						Value: abi.Nil,
					}}
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

// BenchmarkWakeTimes measures updates that leave the wake time as it is, as the steps of a run do that does not sleep,
// and updates that change it; and how many of them are in place, without a word to the indexes.
func BenchmarkWakeTimes(b *testing.B) {
	for name, wake := range map[string]func(n int64) int64{
		"kept": func(int64) int64 { return journal.Now }, "changed": func(n int64) int64 { return n },
	} {
		b.Run(name, func(b *testing.B) {
			schema := pgtest.Schema(b)
			store, err := postgres.Open(b.Context(), postgres.Config{
				DSN: pgtest.DSN(b), Schema: schema, Logger: slog.New(slog.DiscardHandler),
			})
			require.NoError(b, err)
			fences, err := store.ClaimShards(b.Context(), "bench")
			require.NoError(b, err)
			writes := make([]journal.Write, 64)
			for i := range writes {
				id := journal.IDOf("default", "bench/W", fmt.Sprint(i))
				writes[i] = journal.Write{
					ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()],
					Start: &journal.Execution{
						ID:        id,
						Run:       journal.RunID(id),
						Namespace: "default",
						Workflow:  "bench/W",
						Key:       fmt.Sprint(i),
						State:     journal.Running,
					},
				}
			}
			_, err = store.Commit(b.Context(), writes)
			require.NoError(b, err)
			n := int64(1)
			for b.Loop() {
				n++
				for i := range writes {
					writes[i].Start, writes[i].Update = nil, &journal.Update{State: journal.Running, WakeAt: wake(n)}
				}
				results, err := store.Commit(b.Context(), writes)
				if err != nil || results[0].Err != nil {
					b.Fatal(err, results[0].Err)
				}
			}
			b.ReportMetric(float64(b.N*len(writes))/b.Elapsed().Seconds(), "writes/s")
			require.NoError(b, store.Close()) // its connections report their work
			admin, err := pgx.Connect(b.Context(), pgtest.DSN(b))
			require.NoError(b, err)
			defer admin.Close(b.Context())
			var updated, inPlace, indexes float64
			require.NoError(
				b,
				admin.QueryRow(
					b.Context(),
					`SELECT n_tup_upd, n_tup_hot_upd, pg_indexes_size(relid) FROM pg_stat_user_tables
				WHERE schemaname = $1 AND relname = 'executions'`,
					schema,
				).Scan(&updated, &inPlace, &indexes),
			)
			b.ReportMetric(100*inPlace/updated, "%in-place")
			b.ReportMetric(indexes/1024, "kB-indexes")
		})
	}
}

// BenchmarkMessage has n executions receive a message each, and take it in the next turn: two writes each.
func BenchmarkMessage(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store, fences := benchmarkStore(b)
			starts := make([]journal.Write, size)
			for i := range starts {
				id := journal.IDOf("default", "bench/W", fmt.Sprint(i))
				starts[i] = journal.Write{
					ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()],
					Start: &journal.Execution{
						ID:        id,
						Run:       journal.RunID(id),
						Namespace: "default",
						Workflow:  "bench/W",
						Key:       fmt.Sprint(i),
						State:     journal.Running,
					},
				}
			}
			_, err := store.Commit(b.Context(), starts)
			require.NoError(b, err)
			received, taken := slices.Clone(starts), slices.Clone(starts)
			for seq := uint32(1); b.Loop(); seq++ {
				for i := range received {
					m := &journal.Message{
						Envelope: journal.Envelope{Kind: journal.SignalMessage, Name: "paid", Bytes: 1}, Value: abi.Nil,
					}
					binary.BigEndian.PutUint32(m.Origin[:], seq)
					received[i].Start, received[i].Receive = nil, m
				}
				results, err := store.Commit(b.Context(), received)
				require.NoError(b, err)
				for i := range taken {
					taken[i].Start, taken[i].Take = nil, []uint64{results[i].Position}
					taken[i].Entries = []journal.Entry{{Seq: uint64(seq), Kind: journal.Delivery, Value: abi.Nil}}
					taken[i].Update = &journal.Update{State: journal.Running, WakeAt: journal.Never}
				}
				results, err = store.Commit(b.Context(), taken)
				require.NoError(b, err)
				require.NoError(b, results[0].Err)
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// BenchmarkEntity has n entities leave a state and a receipt each.
func BenchmarkEntity(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprintf("batch=%d", size), func(b *testing.B) {
			store, fences := benchmarkStore(b)
			writes := make([]journal.Write, size)
			for i := range writes {
				e := &journal.Entity{
					Namespace: "default", Type: "bank/Account", Key: fmt.Sprint(i), State: make([]byte, 200),
				}
				e.ID = journal.EntityID(e.Namespace, e.Type, e.Key)
				writes[i] = journal.Write{ID: e.ID, Fence: fences[e.ID.Shard()], Entity: e}
			}
			for operation := uint32(1); b.Loop(); operation++ {
				for i := range writes {
					r := journal.Receipt{At: int64(operation), Value: abi.Nil}
					binary.BigEndian.PutUint32(r.Origin[:], operation)
					writes[i].Receipts = []journal.Receipt{r}
				}
				results, err := store.Commit(b.Context(), writes)
				require.NoError(b, err)
				require.NoError(b, results[0].Err)
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "operations/s")
		})
	}
}

// BenchmarkContinue has a run with n entries continue, which deletes them. Longest is how long
// another commit waits that comes meanwhile.
func BenchmarkContinue(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store, fences := benchmarkStore(b)
			storetest.BenchmarkContinue(b, store, fences, n)
		})
	}
}
