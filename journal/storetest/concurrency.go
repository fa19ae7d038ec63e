package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/journal"
)

var concurrencyTests = []test{
	{"Hammer", nil, testHammer},
	{"OneStartWins", nil, testOneStartWins},
	{"ClaimAgainstCommits", nil, testClaimAgainstCommits},
	{"Committer", nil, testCommitterOverStore},
}

// testHammer runs many writers and readers at once, each on its own execution, and checks that each
// finds exactly its own writes.
func testHammer(t *testing.T, b *bundle) {
	const writers, rounds = 8, 12
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			e := newExecution(fmt.Sprint("hammer ", i))
			for round := range uint64(rounds) {
				w := b.write(e.ID)
				if round == 0 {
					w.Start = &e
				}
				w.Entries = []journal.Entry{newEntry(round + 1)}
				w.Update = &journal.Update{State: journal.Running, WakeAt: int64(round)}
				results, err := b.store.Commit(b.ctx, []journal.Write{w})
				if err != nil {
					return err
				}
				if results[0].Err != nil {
					return results[0].Err
				}
				entries, _, err := b.store.Entries(b.ctx, b.runKey(e.ID), 0, journal.PageLimit{Entries: 1000})
				if err != nil {
					return err
				}
				if len(entries) != int(round)+1 {
					return fmt.Errorf("round %d: %d entries", round, len(entries))
				}
				if _, err := b.store.Due(b.ctx, journal.Never, journal.Wake{}, 10); err != nil {
					return err
				}
				if _, err := b.store.List(b.ctx, journal.Filter{Limit: 5}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
}

func testOneStartWins(t *testing.T, b *bundle) {
	var won atomic.Int32
	var group errgroup.Group
	for i := range 16 {
		group.Go(func() error {
			e := newExecution("same")
			e.CreatedAt = int64(i)
			w := b.write(e.ID)
			w.Start = &e
			results, err := b.store.Commit(b.ctx, []journal.Write{w})
			if err != nil {
				return err
			}
			if !results[0].Existed {
				won.Add(1)
			}
			return results[0].Err
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 1, won.Load())
}

// testClaimAgainstCommits claims the shards while the first owner writes: once the claim has returned, the first owner
// commits nothing.
func testClaimAgainstCommits(t *testing.T, b *bundle) {
	old := *b
	id := b.start(t, newExecution("k"))
	var claimed atomic.Bool
	var lastWritten atomic.Uint64
	var group sync.WaitGroup
	failures := make(chan string, 4)
	for lane := range uint64(4) {
		group.Go(func() {
			for round := uint64(0); ; round++ {
				late := claimed.Load()
				w := old.write(id)
				seq := 1 + round*4 + lane
				w.Entries = []journal.Entry{newEntry(seq)}
				results, err := old.store.Commit(old.ctx, []journal.Write{w})
				switch {
				case err != nil:
					failures <- err.Error()
					return
				case results[0].Err != nil:
					if late {
						return
					}
				case late:
					failures <- fmt.Sprintf("entry %d got in after the claim", seq)
					return
				default:
					lastWritten.Add(1)
				}
			}
		})
	}
	b.claim(t, "second")
	claimed.Store(true)
	group.Wait()
	select {
	case failure := <-failures:
		require.Fail(t, failure)
	default:
	}
	entries, _, err := b.store.Entries(b.ctx, b.runKey(id), 0, journal.PageLimit{Entries: 1_000_000, Bytes: 1 << 30})
	require.NoError(t, err)
	require.Len(t, entries, int(lastWritten.Load()), "what was acknowledged is there, and nothing else")
}

func testCommitterOverStore(t *testing.T, b *bundle) {
	var transactions atomic.Int32
	committer := journal.NewCommitter(b.store, journal.CommitterOptions{
		Observe: func(journal.CommitStats) { transactions.Add(1) },
	})
	var group errgroup.Group
	for i := range 64 {
		group.Go(func() error {
			e := newExecution(fmt.Sprint(i))
			w := b.write(e.ID)
			w.Start = &e
			_, err := committer.Commit(b.ctx, w)
			return err
		})
	}
	require.NoError(t, group.Wait())
	committer.Stop()
	page, err := b.store.List(b.ctx, journal.Filter{Limit: 100})
	require.NoError(t, err)
	require.Len(t, page.Executions, 64)
	require.LessOrEqual(t, transactions.Load(), int32(64))
}
