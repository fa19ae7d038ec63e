package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlite"
)

// BenchmarkCommit appends one entry to each of n executions in one
// transaction: the price of a step is the time divided by n.
func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			store, writes := benchmarkStore(b, n)
			for seq := uint64(1); b.Loop(); seq++ {
				for i := range writes {
					writes[i].Entries = []journal.Entry{{
						Seq: seq, At: 1, Kind: journal.Delivery, Turn: seq, Value: abi.Nil,
						Op: journal.Op{Hash: make([]byte, 16), Kind: "activity", Name: "step", Number: uint32(seq)},
					}}
				}
				results, err := store.Commit(b.Context(), writes)
				require.NoError(b, err)
				require.NoError(b, results[0].Err)
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}

// BenchmarkGuest is an activity with one statement.
func BenchmarkGuest(b *testing.B) {
	store, writes := benchmarkStore(b, 1)
	m := journal.Module{Digest: "sha256:1"}
	d := journal.Deployment{Namespace: "mine", Name: "bank", Digest: m.Digest}
	_, err := store.Deploy(b.Context(), writes[0].Fence, m, d, []abi.Migration{{
		Version: 1, SQL: "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER); INSERT INTO accounts VALUES (1, 0)",
	}})
	require.NoError(b, err)
	for seq := uint64(1); b.Loop(); seq++ {
		w := writes[0]
		w.Entries = []journal.Entry{{Seq: seq, Kind: journal.Delivery}}
		require.NoError(b, transfer(b.Context(), store, w))
	}
}

func benchmarkStore(b *testing.B, n int) (*sqlite.Store, []journal.Write) {
	store := open(b, sqlite.Config{Dir: b.TempDir()})
	fences, err := store.ClaimShards(b.Context(), "bench")
	require.NoError(b, err)
	writes := make([]journal.Write, n)
	for i := range writes {
		id := journal.IDOf("mine", "w/W", fmt.Sprint(i))
		writes[i] = journal.Write{ID: id, Run: journal.RunID(id), Fence: fences[id.Shard()], Start: &journal.Execution{ID: id, Run: journal.RunID(id), State: journal.Running}}
	}
	results, err := store.Commit(b.Context(), writes)
	require.NoError(b, err)
	for i := range results {
		require.NoError(b, results[i].Err)
		writes[i].Start = nil
	}
	return store, writes
}
