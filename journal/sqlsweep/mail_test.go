package sqlsweep_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// examined is how many messages there were in pages of mail.
func (f *fake) examined() (n int) {
	for _, p := range f.pages {
		n += len(p.found)
	}
	return n
}

// Mail whose receiver is there stays, and another owner's.
func TestMailThatStays(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 7, 100, 5000} {
		f := newFake(t)
		for _, s := range []journal.Shard{mine, foreign, also} {
			for i := range 30 {
				f.addMail(s, i%3 == 0)
			}
		}
		var n int
		for range 40 {
			n += f.do(t, "Purge", limit)
		}
		require.Equal(t, 40, n, "limit %d", limit)
		require.Len(t, f.mail, 50)
		for _, m := range f.mail {
			require.True(t, m.There || m.To.ID.Shard() == foreign, "%v", m)
		}
	}
}

// A call that ends at its limit loses nothing of its page: the next one goes on right behind it.
func TestMailBehindTheLimit(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for _, s := range []journal.Shard{mine, foreign, also} {
		for range 5 {
			f.addMail(s, true)
			f.addMail(s, false)
		}
	}
	for _, want := range []int{3, 3, 3, 1, 0} {
		require.Equal(t, want, f.do(t, "Purge", 3))
	}
	require.Len(t, f.mail, 20)
}

// A call looks at some of the mail. The next goes on behind it, and behind the end from the beginning.
func TestMailIsLookedAtInTurns(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const size = journal.PurgeExamines + 2*journal.SweepEntries
	for range size {
		f.addMail(mine, true)
	}
	const late = journal.PurgeExamines + 1500
	f.mail[late].There, f.mail[1].There = false, true
	require.Zero(t, f.do(t, "Purge", journal.SweepEntries))
	require.Equal(t, journal.PurgeExamines, f.examined())

	f.mail[1].There = false // behind the place of the first call
	require.Equal(t, 1, f.do(t, "Purge", journal.SweepEntries))
	require.Equal(t, size, f.examined())
	require.Len(t, f.mail, size-1)
	require.False(t, f.mail[1].There, "it comes in the next turn")

	was := len(f.pages)
	require.Equal(t, 1, f.do(t, "Purge", journal.SweepEntries))
	require.Equal(t, f.mail[0], f.pages[was].found[0])
	require.Len(t, f.mail, size-2)
}

// Mail whose last page is a full one begins again as well.
func TestMailOfFullPages(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for range 2 * journal.SweepEntries {
		f.addMail(mine, true)
	}
	for range 4 {
		was := f.examined()
		require.Zero(t, f.do(t, "Purge", journal.SweepEntries))
		require.Equal(t, 2*journal.SweepEntries, f.examined()-was)
	}
	f.mail[0].There = false
	require.Equal(t, 1, f.do(t, "Purge", journal.SweepEntries))
}

// Mail of many pages that is all lost goes up to the limit, a page a transaction.
func TestMailThatIsLost(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const size = 3 * journal.SweepEntries
	for range size {
		f.addMail(mine, false)
	}
	require.Equal(t, size-500, f.do(t, "Purge", size-500))
	require.Equal(t, []int{journal.SweepEntries, journal.SweepEntries, 500}, f.purged())
	require.Equal(t, 500, f.do(t, "Purge", size))
	require.Empty(t, f.mail)
}

// A page that was not deleted is not behind the place: the owner comes back to it with a new fence.
func TestMailOfAStaleOwner(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	for i := range 3 * journal.SweepEntries {
		f.addMail(mine, i != 5)
	}
	f.claim(mine)
	was := f.clone()
	_, err := f.Purge(t.Context(), f.own, 100*journal.SweepEntries)
	require.ErrorIs(t, err, journal.ErrFenced)
	require.Equal(t, was, f.state)
	require.Len(t, f.pages, 1)
	f.own[mine] = f.current[mine]
	require.Equal(t, 1, f.do(t, "Purge", 100*journal.SweepEntries))
	require.Equal(t, was.mail[0], f.pages[1].found[0])
}
