package budget

import (
	"context"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/cruster/cruster/abi"
)

func acquire(t *testing.T, b *Budget, bytes int64) *Permit {
	p, err := b.Acquire(t.Context(), bytes)
	if err != nil {
		t.Error(err) // it may be called on another goroutine
	}
	return p
}

// acquireLater has another goroutine wait for a permit, and returns where that will be.
func acquireLater(t *testing.T, b *Budget, bytes int64) *atomic.Pointer[Permit] {
	var got atomic.Pointer[Permit]
	go func() {
		if p, err := b.Acquire(t.Context(), bytes); err == nil {
			got.Store(p)
		}
	}()
	synctest.Wait()
	return &got
}

func TestAcquireWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		first := acquire(t, b, 60)
		large, small := acquireLater(t, b, 50), acquireLater(t, b, 10)
		require.Nil(t, small.Load(), "what is small does not overtake")
		require.Equal(t, 2, b.Waiting())
		first.Release()
		first.Release()
		synctest.Wait()
		require.EqualValues(t, 60, b.Used())
		large.Load().Release()
		small.Load().Release()
		require.Zero(t, b.Used())
		require.Zero(t, b.Waiting())
	})
}

func TestAcquireGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		first := acquire(t, b, 60)
		ctx, cancel := context.WithCancel(t.Context())
		var failed error
		go func() { _, failed = b.Acquire(ctx, 50) }()
		synctest.Wait()
		served := acquireLater(t, b, 40)
		cancel()
		synctest.Wait()
		require.ErrorIs(t, failed, context.Canceled)
		require.NotNil(t, served.Load(), "the one behind it is served")
		first.Release()
		served.Load().Release()
		require.Zero(t, b.Used())
	})
}

func TestTooLargeForTheBudget(t *testing.T) {
	t.Parallel()
	_, err := New(100).Acquire(t.Context(), 101)
	require.Equal(t, abi.CodeGuestMemory, abi.CodeOf(err))
	require.False(t, abi.AsError(err).Retryable, "waiting would not help")
}

// TestReclaim frees idle memory before anything waits.
func TestReclaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		var resting []*Permit
		b.ReclaimBy(func() bool {
			if len(resting) == 0 {
				return false
			}
			p := resting[0]
			resting = resting[1:]
			p.Release()
			return true
		})
		resting = []*Permit{acquire(t, b, 40), acquire(t, b, 40)}
		working := acquire(t, b, 50)
		require.Len(t, resting, 1)
		require.True(t, working.Grow(20))
		require.Empty(t, resting)
		require.False(t, working.Grow(40), "it does not wait")
		require.EqualValues(t, 70, working.Bytes())

		waited := acquireLater(t, b, 60)
		require.Nil(t, waited.Load())
		resting = []*Permit{working} // it comes to rest
		b.Look()
		synctest.Wait()
		require.NotNil(t, waited.Load())
		waited.Load().Release()
		require.False(t, working.Grow(1), "it was given back")
		require.Zero(t, working.Bytes())
	})
}

// TestOnlyTheNextFreesMemory: requests behind it would throw away idle instances before it can help them.
func TestOnlyTheNextFreesMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		working := acquire(t, b, 80)
		asked := 0
		b.ReclaimBy(func() bool { asked++; return false })
		for range 3 {
			go func() { acquire(t, b, 30).Release() }()
			synctest.Wait()
		}
		require.Equal(t, 1, asked)
		working.Release()
		synctest.Wait()
		require.Equal(t, 1, asked, "there is room for all of them")
		require.Zero(t, b.Used())
	})
}

// TestBudgetHolds has many take, grow and give back at random.
func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := New(rapid.Int64Range(1, 50).Draw(rt, "total"))
		sizes := rapid.SliceOfN(rapid.Int64Range(0, b.total), 1, 30).Draw(rt, "sizes")
		var all sync.WaitGroup
		for _, n := range sizes {
			all.Go(func() {
				p, err := b.Acquire(context.Background(), n)
				if err != nil {
					t.Error(err)
					return
				}
				p.Grow(1)
				if used := b.Used(); used > b.total {
					t.Errorf("%d of %d are used", used, b.total)
				}
				p.Release()
			})
		}
		all.Wait()
		require.Zero(rt, b.Used())
		require.Zero(rt, b.Waiting())
	})
}

func TestShrink(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(100)
		p := b.Empty()
		require.True(t, p.Grow(70))
		var other *Permit
		go func() { other, _ = b.Acquire(t.Context(), 50) }()
		synctest.Wait()
		require.Nil(t, other)
		p.Shrink(20)
		synctest.Wait()
		require.NotNil(t, other, "who waits is told of a part, too")
		require.EqualValues(t, 50, p.Bytes())
		p.Shrink(1000)
		require.Zero(t, p.Bytes())
		require.EqualValues(t, 50, b.Used())
		p.Release()
		p.Shrink(1)
		require.EqualValues(t, 50, b.Used())
	})
}

// TestTryAcquire takes free memory, and neither waits nor overtakes waiting requests.
func TestTryAcquire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := New(10)
		b.ReclaimBy(func() bool {
			t.Error("it frees memory")
			return false
		})
		first, ok := b.TryAcquire(7)
		require.True(t, ok)
		_, ok = b.TryAcquire(4)
		require.False(t, ok)
		b.ReclaimBy(func() bool { return false })
		go func() {
			acquire(t, b, 10).Release()
		}()
		synctest.Wait()
		_, ok = b.TryAcquire(1)
		require.False(t, ok, "another waits for it")
		first.Release()
		synctest.Wait()
		_, ok = b.TryAcquire(10)
		require.True(t, ok)
		require.EqualValues(t, 10, b.Used())
	})
}

// TestSetAside: a permit grows into the bytes set aside for it, whatever others take, and gives the rest
// back.
func TestSetAside(t *testing.T) {
	t.Parallel()
	b := New(100)
	p := acquire(t, b, 60)
	p.SetAside(40)
	acquire(t, b, 40)
	require.True(t, p.Grow(30))
	require.EqualValues(t, 100, b.Used())
	require.False(t, p.Grow(11), "10 are left")
	require.True(t, p.CouldGrow(50))
	require.False(t, p.CouldGrow(51))
	p.DropAside(math.MaxInt64)
	p.DropAside(math.MaxInt64)
	require.EqualValues(t, 50, p.Bytes())
	require.EqualValues(t, 90, b.Used())
	p.Release()
	p.DropAside(math.MaxInt64)
	require.EqualValues(t, 40, b.Used())
}

// TestWanted: a permit knows its size without the bytes set aside, or the size that it was refused.
func TestWanted(t *testing.T) {
	t.Parallel()
	b := New(100)
	p := acquire(t, b, 60)
	p.SetAside(10)
	p.SetAside(20)
	bytes, refused := p.Wanted()
	require.EqualValues(t, 30, bytes)
	require.False(t, refused)
	p.DropAside(5)
	require.EqualValues(t, 55, p.Bytes())
	require.False(t, p.Grow(71))
	require.True(t, p.Grow(30))
	bytes, refused = p.Wanted()
	require.EqualValues(t, 101, bytes)
	require.True(t, refused)

	var none *Permit
	bytes, refused = none.Wanted()
	require.Zero(t, bytes)
	require.False(t, refused)
}

// TestPart grows a permit up to its part of the budget. A request beyond the part evicts no other holder of memory.
func TestPart(t *testing.T) {
	t.Parallel()
	b := New(100)
	freed := 0
	b.ReclaimBy(func() bool { freed++; return false })
	p := b.Part(60)
	require.True(t, p.Grow(50))
	require.False(t, p.Grow(11))
	require.False(t, p.CouldGrow(11))
	require.Zero(t, freed)
	other := acquire(t, b, 45)
	require.False(t, p.Grow(10))
	require.True(t, p.CouldGrow(10))
	require.Equal(t, 1, freed)
	other.Release()
	require.True(t, p.Grow(10))
	require.EqualValues(t, 60, b.Used())
}
