package follow

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func stirred(f *Follower) bool {
	select {
	case <-f.Changed():
		return true
	default:
		return false
	}
}

func says(message string) func() Line { return func() Line { return Line{Message: message} } }

// takeAll takes all lines that were logged.
func takeAll(list *List, f *Follower) (lines []Line) {
	for {
		line, ok := list.Take(f, math.MinInt64, list.Logged(f))
		if !ok {
			return lines
		}
		lines = append(lines, line)
	}
}

func TestFollowersGetWhatConcernsThem(t *testing.T) {
	t.Parallel()
	var list List
	one, two := journal.ID{1}, journal.ID{2}
	run := journal.Execution{ID: one, Chain: journal.RunID{1}}
	list.Notify(one) // without followers nothing happens
	list.Log(&run, func() Line {
		require.FailNow(t, "a line is made for no one")
		return Line{}
	})
	a, b := list.Add(one, run.Chain), list.Add(one, run.Chain)
	other := list.Add(two, journal.RunID{})

	list.Log(&run, says("x"))
	list.Log(&journal.Execution{ID: one, Chain: journal.RunID{2}}, says("of another run"))
	list.Notify(one)
	for _, f := range []*Follower{a, b} {
		require.True(t, stirred(f))
		require.False(t, stirred(f), "one look is enough for both")
		require.Equal(t, []Line{{Message: "x"}}, takeAll(&list, f))
		require.Empty(t, takeAll(&list, f))
	}
	require.False(t, stirred(other))

	list.Remove(one, a)
	list.Remove(one, a)
	list.Notify(one)
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
	run := journal.Execution{ID: journal.ID{1}}
	f := list.Add(run.ID, run.Chain)
	large := strings.Repeat("x", maxHeld/4)
	for range 10 {
		list.Log(&run, says(large))
	}
	lines := takeAll(&list, f)
	require.Len(t, lines, 4)
	require.Equal(t, Line{Dropped: 7}, lines[3], "it is told also if nothing comes behind them")
	list.Log(&run, says("next"))
	require.Equal(t, []Line{{Message: "next"}}, takeAll(&list, f))
}

func TestLinesAreTakenByTimeOrByNumber(t *testing.T) {
	t.Parallel()
	var list List
	run := journal.Execution{ID: journal.ID{1}}
	f := list.Add(run.ID, run.Chain)
	take := func(before int64, first int) string {
		line, ok := list.Take(f, before, first)
		require.Equal(t, ok, line != Line{})
		return line.Message
	}
	require.Empty(t, take(math.MaxInt64, math.MaxInt))
	for i, message := range []string{"a", "b", "c", "d"} {
		list.Log(&run, func() Line { return Line{At: int64(i), Message: message} })
	}
	require.Equal(t, 4, list.Logged(f))
	require.Equal(t, "a", take(1, 0))
	require.Empty(t, take(1, 1))
	require.Equal(t, "b", take(1, 2))
	require.Equal(t, "c", take(math.MinInt64, 4))
	require.Equal(t, "d", take(4, 0))
	require.Zero(t, f.held)

	list.Log(&run, func() Line { return Line{At: 5, Message: strings.Repeat("x", maxHeld)} })
	require.Equal(t, 5, list.Logged(f))
	line, ok := list.Take(f, 5, 4)
	require.False(t, ok, "%v", line)
	line, ok = list.Take(f, 5, 5)
	require.True(t, ok)
	require.Equal(t, Line{At: 5, Dropped: 1}, line)
	require.Empty(t, take(math.MaxInt64, math.MaxInt))
}

func TestFollowersAreBounded(t *testing.T) {
	t.Parallel()
	var list List
	var last *Follower
	for i := range maxFollowers {
		last = list.Add(journal.ID{byte(i)}, journal.RunID{})
		require.NotNil(t, last)
	}
	require.Nil(t, list.Add(journal.ID{1}, journal.RunID{}))
	list.Remove(journal.ID{maxFollowers - 1}, last)
	require.NotNil(t, list.Add(journal.ID{1}, journal.RunID{}))
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
				f := list.Add(id, journal.RunID{})
				list.Log(&journal.Execution{ID: id}, says("x"))
				list.Notify(id)
				<-f.Changed()
				takeAll(&list, f)
				list.Remove(id, f)
			}
		})
	}
	all.Wait()
	require.Empty(t, list.byID)
	require.Zero(t, list.count.Load())
}
