package storetest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// BenchmarkContinue has a run with n entries of a few hundred bytes continue, again and again, while another execution
// commits one entry after the other. It reports how long the continuation takes, and the longest of the other commits.
func BenchmarkContinue(b *testing.B, store journal.Store, fences []journal.Fence, n int) {
	one := newExecution("one")
	write := func(id journal.ID, run journal.RunID) journal.Write {
		return journal.Write{ID: id, Run: run, Fence: fences[id.Shard()]}
	}
	commit := func(w journal.Write) {
		results, err := store.Commit(b.Context(), []journal.Write{w})
		require.NoError(b, err)
		require.NoError(b, results[0].Err)
	}
	start := write(one.ID, one.Run)
	start.Start = &one
	commit(start)
	run := one.Run
	for b.Loop() {
		b.StopTimer()
		for seq := 1; seq <= n; seq += 1000 {
			w := write(one.ID, run)
			for i := range 1000 {
				en := newEntry(uint64(seq + i))
				en.Value = make([]byte, 200)
				w.Entries = append(w.Entries, en)
			}
			commit(w)
		}
		var over atomic.Bool
		longest := make(chan time.Duration)
		go others(b, store, fences, &over, longest)
		w := write(one.ID, run)
		w.Continue = &journal.Continuation{Run: journal.NewRunID()}
		run = w.Continue.Run
		b.StartTimer()
		commit(w)
		b.StopTimer()
		over.Store(true)
		b.ReportMetric(float64((<-longest).Milliseconds()), "ms-longest")
		b.StartTimer()
	}
}

// others commits entries of another execution until it has ended.
func others(
	b *testing.B, store journal.Store, fences []journal.Fence, over *atomic.Bool, longest chan<- time.Duration,
) {
	other := newExecution(journal.NewRunID().String())
	w := journal.Write{ID: other.ID, Run: other.Run, Fence: fences[other.ID.Shard()], Start: &other}
	var most time.Duration
	for seq := uint64(1); !over.Load(); seq++ {
		begun := time.Now()
		if _, err := store.Commit(b.Context(), []journal.Write{w}); err != nil {
			b.Error(err)
			break
		}
		if seq > 1 {
			most = max(most, time.Since(begun))
		}
		w.Start, w.Entries = nil, []journal.Entry{newEntry(seq)}
	}
	longest <- most
}
