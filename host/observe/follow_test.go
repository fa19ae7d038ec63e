package observe

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/memory"
	"github.com/cruster/cruster/journal"
)

// newObserver is an observer with memory for answers.
func newObserver(deps Deps) *Observer {
	deps.Answers, deps.Followers = &memory.Shares{Answers: budget.New(100 << 20)}, &follow.List{}
	return New(deps)
}

// followingOf is a caller that notes the numbers of entries and the messages of lines.
func followingOf(o *Observer, told *[]any) *following {
	follower := o.deps.Followers.Add(journal.ID{}, journal.RunID{})
	return &following{observer: o, follower: follower, tell: func(e FollowEvent) error {
		if e.Entry != nil {
			*told = append(*told, e.Entry.Seq)
		} else {
			*told = append(*told, e.Line.Message)
		}
		return nil
	}}
}

// logs has the execution log lines.
func (v *following) logs(lines ...follow.Line) {
	for _, line := range lines {
		v.observer.deps.Followers.Log(&journal.Execution{}, func() follow.Line { return line })
	}
}

// A follower that is cut off resumes behind the last entry that it was told: none may be told
// before one with a lower number.
func TestFollowTellsEntriesInTheirOrder(t *testing.T) {
	t.Parallel()
	var told []any
	v := followingOf(newObserver(Deps{Clock: clockwork.NewFakeClock()}), &told)
	v.logs(follow.Line{At: 1, Message: "a"}, follow.Line{At: 6, Message: "b"}, follow.Line{At: 9, Message: "c"})
	left, err := v.tellEntries([]journal.Entry{{Seq: 9, At: 5}, {Seq: 10, At: 8}, {Seq: 11, At: 7}}, func(int64) {})
	require.NoError(t, err)
	require.False(t, left)
	require.NoError(t, v.tellLines(math.MinInt64, 3))
	require.Equal(t, []any{"a", uint64(9), "b", uint64(10), uint64(11), "c"}, told)
	require.EqualValues(t, 11, v.after)
}

// journalOf is a store that has nothing but a journal.
type journalOf struct {
	journal.Store
	entries []journal.Entry
	limits  []int // of the pages that were read
	reading func()
}

func (s *journalOf) Entries(
	_ context.Context, _ journal.RunKey, after uint64, limit journal.PageLimit,
) ([]journal.Entry, bool, error) {
	s.limits = append(s.limits, limit.Entries)
	if s.reading != nil {
		s.reading()
	}
	page := slices.Clone(s.entries[after:min(len(s.entries), int(after)+limit.Entries)])
	return page, int(after)+len(page) < len(s.entries), nil
}

// TestLinesBeforeTheirEntries: the log lines of an activity are told before its outcome, also if
// both come while a page is read. A line behind the entries of the page waits for earlier entries,
// which the next page has.
func TestLinesBeforeTheirEntries(t *testing.T) {
	t.Parallel()
	store := &journalOf{}
	var told []any
	v := followingOf(newObserver(Deps{Clock: clockwork.NewFakeClock(), Store: store}), &told)
	store.reading = func() {
		store.reading = nil
		v.logs(follow.Line{At: 1, Message: "of the first"})
		store.entries = append(store.entries, journal.Entry{Seq: 1, At: 2})
		v.logs(follow.Line{At: 3, Message: "of the second"})
	}
	tell := func(want ...any) {
		t.Helper()
		told = nil
		more, err := v.tellPage(t.Context(), &journal.Execution{})
		require.NoError(t, err)
		require.False(t, more)
		require.Equal(t, want, told)
	}
	tell("of the first", uint64(1))
	store.entries = append(store.entries, journal.Entry{Seq: 2, At: 4})
	v.logs(follow.Line{At: 5, Message: "of the third"})
	tell("of the second", uint64(2), "of the third")
	require.NotEmpty(t, v.follower.Changed())
}

// TestSlowFollowersHaveOneEntry: a follower that takes a message a minute lets go of its page after the first, and
// reads one entry at a time from then on. Lines behind the entries are told with none in memory. When it is quick again
// it reads pages.
func TestSlowFollowersHaveOneEntry(t *testing.T) {
	t.Parallel()
	const size = 10_000
	store := &journalOf{}
	for seq := range uint64(5) {
		store.entries = append(store.entries, journal.Entry{Seq: seq + 1, At: int64(seq), Value: make([]byte, size)})
	}
	clock := clockwork.NewFakeClock()
	o := newObserver(Deps{Clock: clock, Store: store})
	var paid []int64
	slow := 3 // messages
	v := &following{
		observer: o,
		follower: o.deps.Followers.Add(journal.ID{}, journal.RunID{}),
		tell: func(FollowEvent) error {
			paid = append(paid, o.deps.Answers.Answers.Used())
			if slow--; slow >= 0 {
				clock.Advance(time.Minute)
			}
			return nil
		},
	}
	v.logs(follow.Line{At: 100, Message: "a line"})
	for more := true; more; {
		var err error
		more, err = v.tellPage(t.Context(), &journal.Execution{})
		require.NoError(t, err)
	}
	require.Equal(t, []int{followPage, 1, 1, 1, followPage}, store.limits)
	one := int64(followCopies * size)
	require.Equal(t, []int64{5 * one, one, one, one, one, 0}, paid)
	require.Zero(t, o.deps.Answers.Answers.Used())
}
