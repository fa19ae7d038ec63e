package sqlsweep_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// A small limit bounds the deletions, and not the pages: a call reads few of them, and no more mail
// than it may.
func TestMailPagesOfSmallLimits(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{300, 1, journal.SweepEntries - 1, journal.SweepEntries + 1, 1 << 20} {
		f := newFake(t)
		for i := range journal.PurgeExamines + 500 {
			f.addMail(mine, i != journal.PurgeExamines-300)
		}
		require.Equal(t, 1, f.do(t, "Purge", limit), "limit %d", limit)
		require.LessOrEqual(t, f.examined(), journal.PurgeExamines, "limit %d", limit)
		for _, p := range f.pages {
			require.Equal(t, journal.SweepEntries, p.limit, "a page of limit %d", limit)
		}
	}
}

// Purges at the same time take turns: each goes on behind the mail that the others have looked at.
func TestMailPagesOfPurgesTogether(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const purges = 4
	for range purges * journal.PurgeExamines {
		f.addMail(mine, true)
	}
	var within atomic.Int32
	f.reading = func() {
		if within.Add(1) > 1 {
			_ = f.fault("two purges look at mail at once")
		}
		for range 100 {
			runtime.Gosched()
		}
		within.Add(-1)
	}
	var all sync.WaitGroup
	errs := make([]error, purges)
	for i := range purges {
		all.Go(func() { _, errs[i] = f.Purge(t.Context(), f.own, 10*journal.SweepEntries) })
	}
	all.Wait()
	seen, distinct := map[sqlsweep.MailPlace]bool{}, 0
	for _, p := range f.pages {
		for _, m := range p.found {
			if !seen[m.MailPlace] {
				seen[m.MailPlace] = true
				distinct++
			}
		}
	}
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, len(f.mail), distinct, "mail that some purge has looked at")
	require.Equal(t, len(f.mail), f.examined(), "each is looked at once")
}
