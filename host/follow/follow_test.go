package follow

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func stirred(f *Follower) bool {
	select {
	case <-f.Stirred():
		return true
	default:
		return false
	}
}

func TestFollowersGetWhatConcernsThem(t *testing.T) {
	t.Parallel()
	var list List
	one, two := journal.ID{1}, journal.ID{2}
	list.Stir(one) // without followers nothing happens
	list.Log(one, Line{Message: "lost"})
	a, b := list.Add(one), list.Add(one)
	other := list.Add(two)

	list.Log(one, Line{Message: "x"})
	list.Stir(one)
	for _, f := range []*Follower{a, b} {
		require.True(t, stirred(f))
		require.False(t, stirred(f), "one look is enough for both")
		require.Equal(t, []Line{{Message: "x"}}, list.Take(f))
		require.Empty(t, list.Take(f))
	}
	require.False(t, stirred(other))

	list.Remove(one, a)
	list.Remove(one, a)
	list.Stir(one)
	require.False(t, stirred(a))
	require.True(t, stirred(b))
	list.Remove(one, b)
	list.Remove(two, other)
	require.Empty(t, list.byID)
	require.Zero(t, list.count.Load())
}

func TestASlowFollowerLosesLines(t *testing.T) {
	t.Parallel()
	var list List
	id := journal.ID{1}
	f := list.Add(id)
	large := strings.Repeat("x", maxHeld/4)
	for range 10 {
		list.Log(id, Line{Message: large})
	}
	require.Len(t, list.Take(f), 3)
	list.Log(id, Line{Message: "next"})
	require.Equal(t, []Line{{Message: "next", Dropped: 7}}, list.Take(f))
}

func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	var list List
	var last *Follower
	for i := range maxFollowers {
		last = list.Add(journal.ID{byte(i)})
		require.NotNil(t, last)
	}
	require.Nil(t, list.Add(journal.ID{1}))
	list.Remove(journal.ID{maxFollowers - 1}, last)
	require.NotNil(t, list.Add(journal.ID{1}))
}

// TestFollowHammer adds, tells and removes from many sides.
func TestFollowHammer(t *testing.T) {
	t.Parallel()
	var list List
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range 300 {
				id := journal.ID{byte(n % 3)}
				f := list.Add(id)
				list.Log(id, Line{Message: "x"})
				list.Stir(id)
				<-f.Stirred()
				list.Take(f)
				list.Remove(id, f)
			}
		})
	}
	all.Wait()
	require.Empty(t, list.byID)
	require.Zero(t, list.count.Load())
}
