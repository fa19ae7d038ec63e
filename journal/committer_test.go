package journal_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// gatedStore lets a test decide when a commit goes on, and its outcome.
type gatedStore struct {
	*memory.Store
	entered chan int      // receives the size of each batch as it begins
	proceed chan struct{} // one token a commit; nil lets everything through
	fail    func(writes []journal.Write) error

	mu      sync.Mutex
	batches [][]journal.Write // guarded by mu
}

func (s *gatedStore) Commit(ctx context.Context, writes []journal.Write) ([]journal.Result, error) {
	if s.proceed != nil {
		s.entered <- len(writes)
		<-s.proceed
	}
	s.mu.Lock()
	s.batches = append(s.batches, writes)
	s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(writes); err != nil {
			return nil, err
		}
	}
	return s.Store.Commit(ctx, writes)
}

type committerBundle struct {
	store     *gatedStore
	committer *journal.Committer
	fences    []journal.Fence
}

func newCommitterBundle(t *testing.T, store *gatedStore, opts journal.CommitterOptions) *committerBundle {
	store.Store = memory.New()
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	opts.Logger = slog.New(slog.DiscardHandler)
	b := &committerBundle{store: store, committer: journal.NewCommitter(store, opts), fences: fences}
	t.Cleanup(b.committer.Stop)
	return b
}

func (b *committerBundle) start(key string) journal.Write {
	id := journal.IDOf("default", "orders/Process", key)
	return journal.Write{
		ID:    id,
		Run:   journal.RunID(id),
		Fence: b.fences[id.Shard()],
		Start: &journal.Execution{ID: id, Run: journal.RunID(id), Key: key, State: journal.Running},
	}
}

// enqueue hands writes over, one after the other, and returns their answers.
func (b *committerBundle) enqueue(t *testing.T, writes ...journal.Write) []chan error {
	answers := make([]chan error, len(writes))
	for i, w := range writes {
		answers[i] = make(chan error, 1)
		before := b.committer.Queued()
		go func() {
			_, err := b.committer.Commit(t.Context(), w)
			answers[i] <- err
		}()
		require.Eventually(t, func() bool { return b.committer.Queued() == before+1 }, waitLong, waitTick)
	}
	return answers
}

func TestCommitterSharesTransactions(t *testing.T) {
	t.Parallel()
	var stats []journal.CommitStats
	b := newCommitterBundle(t, &gatedStore{entered: make(chan int), proceed: make(chan struct{})},
		journal.CommitterOptions{Observe: func(s journal.CommitStats) { stats = append(stats, s) }})
	first := make(chan error, 1)
	go func() {
		_, err := b.committer.Commit(t.Context(), b.start("first"))
		first <- err
	}()
	require.Equal(t, 1, <-b.store.entered, "a single write is committed at once")

	var writes []journal.Write
	for i := range 10 {
		writes = append(writes, b.start(fmt.Sprint(i)))
	}
	answers := b.enqueue(t, writes...)
	b.store.proceed <- struct{}{}
	require.NoError(t, <-first)
	require.Equal(t, 10, <-b.store.entered, "the next batch filled meanwhile")
	require.Zero(t, b.committer.Queued())
	b.store.proceed <- struct{}{}
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	b.committer.Stop()
	require.Len(t, stats, 2)
	require.Equal(t, 10, stats[1].Writes)
	require.Positive(t, stats[1].Bytes)
	require.Equal(t, writes, b.store.batches[1], "in the order in which they came")
}

func TestCommitterBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		opts  journal.CommitterOptions
		sizes []int
	}{
		"writes": {journal.CommitterOptions{MaxBatch: 2}, []int{2, 2, 1}},
		"bytes":  {journal.CommitterOptions{MaxBytes: 1}, []int{1, 1, 1, 1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCommitterBundle(t, &gatedStore{entered: make(chan int), proceed: make(chan struct{})}, c.opts)
			go func() { _, _ = b.committer.Commit(t.Context(), b.start("first")) }()
			<-b.store.entered
			var writes []journal.Write
			for i := range 5 {
				writes = append(writes, b.start(fmt.Sprint(i)))
			}
			answers := b.enqueue(t, writes...)
			b.store.proceed <- struct{}{}
			for _, size := range c.sizes {
				require.Equal(t, size, <-b.store.entered)
				b.store.proceed <- struct{}{}
			}
			for _, answer := range answers {
				require.NoError(t, <-answer)
			}
		})
	}
}

func TestCommitterResults(t *testing.T) {
	t.Parallel()
	b := newCommitterBundle(t, &gatedStore{}, journal.CommitterOptions{})
	w := b.start("k")
	result, err := b.committer.Commit(t.Context(), w)
	require.NoError(t, err)
	require.False(t, result.Existed)
	result, err = b.committer.Commit(t.Context(), w)
	require.NoError(t, err)
	require.True(t, result.Existed)
	w.Fence.Epoch--
	_, err = b.committer.Commit(t.Context(), w)
	require.ErrorIs(t, err, journal.ErrFenced)
}

// poisoned makes a gate whose first batch is held back, so that the next writes share the second.
func poisoned(t *testing.T, fail func([]journal.Write) error) (b *committerBundle, answers []chan error) {
	store := &gatedStore{entered: make(chan int), proceed: make(chan struct{})}
	b = newCommitterBundle(t, store, journal.CommitterOptions{})
	first := make(chan error, 1)
	go func() {
		_, err := b.committer.Commit(t.Context(), b.start("first"))
		first <- err
	}()
	<-store.entered
	answers = b.enqueue(t, b.start("a"), b.start("poison"), b.start("b"), b.start("c"))
	store.proceed <- struct{}{}
	require.NoError(t, <-first)
	require.Equal(t, 4, <-store.entered)
	store.fail = fail
	store.proceed <- struct{}{}
	go func() {
		for range store.entered {
			store.proceed <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		b.committer.Stop()
		close(store.entered)
	})
	return b, answers
}

func hasPoison(writes []journal.Write) bool {
	for _, w := range writes {
		if w.Start.Key == "poison" {
			return true
		}
	}
	return false
}

func TestCommitterPoisonedWriteFailsAlone(t *testing.T) {
	t.Parallel()
	broken := errors.New("value too odd")
	_, answers := poisoned(t, func(writes []journal.Write) error {
		if hasPoison(writes) {
			return broken
		}
		return nil
	})
	require.NoError(t, <-answers[0])
	require.ErrorIs(t, <-answers[1], broken)
	require.NoError(t, <-answers[2])
	require.NoError(t, <-answers[3])
}

func TestCommitterStoreDown(t *testing.T) {
	t.Parallel()
	down := errors.New("no connection")
	b, answers := poisoned(t, func([]journal.Write) error { return down })
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, down)
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	require.Len(t, b.store.batches, 1+1+3, "a store that is down is not asked for every write")
}

func TestCommitterUndecidedIsForAll(t *testing.T) {
	t.Parallel()
	b, answers := poisoned(t, func([]journal.Write) error {
		return fmt.Errorf("reset by peer: %w", journal.ErrUndecided)
	})
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, journal.ErrUndecided)
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	require.Len(t, b.store.batches, 2, "nothing is repeated")
}

func TestCommitterConflictIsRepeatedWhole(t *testing.T) {
	t.Parallel()
	conflicts := 3
	b, answers := poisoned(t, func([]journal.Write) error {
		if conflicts--; conflicts >= 0 {
			return journal.ErrConflict
		}
		return nil
	})
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	b.store.mu.Lock()
	defer b.store.mu.Unlock()
	require.Len(t, b.store.batches, 1+4)
	require.Len(t, b.store.batches[4], 4)
}

func TestCommitterEndlessConflict(t *testing.T) {
	t.Parallel()
	_, answers := poisoned(t, func([]journal.Write) error { return journal.ErrConflict })
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, journal.ErrConflict)
	}
}

// The pauses between retries, and the durations, follow the clock.
func TestCommitterClock(t *testing.T) {
	t.Parallel()
	clock := clockwork.NewFakeClock()
	conflicts := 2
	store := &gatedStore{fail: func([]journal.Write) error {
		clock.Advance(3 * time.Second)
		if conflicts--; conflicts >= 0 {
			return journal.ErrConflict
		}
		return nil
	}}
	var stats []journal.CommitStats
	b := newCommitterBundle(t, store, journal.CommitterOptions{
		Clock: clock, Observe: func(s journal.CommitStats) { stats = append(stats, s) },
	})
	answer := make(chan error, 1)
	go func() {
		_, err := b.committer.Commit(t.Context(), b.start("k"))
		answer <- err
	}()
	for _, pause := range []time.Duration{time.Millisecond, 2 * time.Millisecond} {
		require.NoError(t, clock.BlockUntilContext(t.Context(), 1))
		clock.Advance(pause - 1)
		require.NoError(t, clock.BlockUntilContext(t.Context(), 1), "the pause is not over")
		clock.Advance(1)
	}
	require.NoError(t, <-answer)
	b.committer.Stop()
	require.Len(t, stats, 3)
	for i, s := range stats {
		require.Equal(t, 3*time.Second, s.Duration)
		require.Equal(t, i < 2, errors.Is(s.Err, journal.ErrConflict))
	}
}

func TestCommitterPanicOfTheStore(t *testing.T) {
	t.Parallel()
	b, answers := poisoned(t, func(writes []journal.Write) error {
		if hasPoison(writes) {
			panic("index out of range")
		}
		return nil
	})
	for _, answer := range answers {
		require.ErrorIs(t, <-answer, journal.ErrUndecided)
	}
	_, err := b.committer.Commit(t.Context(), b.start("later"))
	require.NoError(t, err, "the committer goes on")
}

// hungStore does not commit before it is told to give up.
type hungStore struct{ answer error }

func (hungStore) CommitsAtOnce() int { return 1 }

func (s hungStore) Commit(ctx context.Context, _ []journal.Write) ([]journal.Result, error) {
	<-ctx.Done()
	return nil, errors.Join(s.answer, ctx.Err())
}

func TestCommitterGivesUp(t *testing.T) {
	t.Parallel()
	id := journal.IDOf("default", "orders/Process", "a")
	for _, answer := range []error{nil, journal.ErrUndecided} {
		c := journal.NewCommitter(hungStore{answer}, journal.CommitterOptions{Timeout: time.Millisecond})
		_, err := c.Commit(t.Context(), journal.Write{ID: id})
		c.Stop()
		require.Error(t, err)
		require.Equal(t, answer != nil, errors.Is(err, journal.ErrUndecided))
		require.Equal(
			t, abi.CodeStore, abi.CodeOf(journal.Coded("commit", err)), "it was no caller that set this deadline",
		)
	}
}

func TestCommitterContext(t *testing.T) {
	t.Parallel()
	b := newCommitterBundle(
		t, &gatedStore{entered: make(chan int), proceed: make(chan struct{})}, journal.CommitterOptions{},
	)
	ctx, cancel := context.WithCancel(t.Context())
	inFlight, queued := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.committer.Commit(ctx, b.start("in flight"))
		inFlight <- err
	}()
	<-b.store.entered
	go func() {
		_, err := b.committer.Commit(ctx, b.start("queued"))
		queued <- err
	}()
	require.Eventually(t, func() bool { return b.committer.Queued() == 1 }, waitLong, waitTick)
	cancel()
	require.ErrorIs(t, <-queued, context.Canceled)
	require.Zero(t, b.committer.Queued())
	b.store.proceed <- struct{}{}
	require.NoError(t, <-inFlight, "what is on its way is awaited")

	_, err := b.committer.Commit(ctx, b.start("late"))
	require.ErrorIs(t, err, context.Canceled)
	_, err = b.store.Load(t.Context(), b.start("queued").ID)
	require.ErrorIs(t, err, journal.ErrNotFound)
}

func TestCommitterStopDrains(t *testing.T) {
	t.Parallel()
	b := newCommitterBundle(
		t, &gatedStore{entered: make(chan int), proceed: make(chan struct{})}, journal.CommitterOptions{},
	)
	first := make(chan error, 1)
	go func() {
		_, err := b.committer.Commit(t.Context(), b.start("first"))
		first <- err
	}()
	<-b.store.entered
	answers := b.enqueue(t, b.start("a"), b.start("b"))
	stopped := make(chan struct{})
	go func() {
		b.committer.Stop()
		close(stopped)
	}()
	b.store.proceed <- struct{}{}
	<-b.store.entered
	b.store.proceed <- struct{}{}
	<-stopped
	require.NoError(t, <-first)
	for _, answer := range answers {
		require.NoError(t, <-answer)
	}
	b.committer.Stop()
	_, err := b.committer.Commit(t.Context(), b.start("late"))
	require.ErrorContains(t, err, "stopped")
}

func TestCommitterHammer(t *testing.T) {
	t.Parallel()
	b := newCommitterBundle(t, &gatedStore{}, journal.CommitterOptions{MaxBatch: 7})
	var group errgroup.Group
	for i := range 32 {
		group.Go(func() error {
			w := b.start(fmt.Sprint(i))
			if _, err := b.committer.Commit(t.Context(), w); err != nil {
				return err
			}
			for seq := range uint64(20) {
				w.Start, w.Entries = nil, []journal.Entry{{Seq: seq + 1, Kind: journal.Delivery}}
				if _, err := b.committer.Commit(t.Context(), w); err != nil {
					return err
				}
			}
			entries, _, err := b.store.Entries(t.Context(), journal.KeyOf(w.ID, w.Run), 0, journal.PageLimit{
				Entries: 100,
			})
			if err == nil && len(entries) != 20 {
				err = fmt.Errorf("%d entries", len(entries))
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
}
