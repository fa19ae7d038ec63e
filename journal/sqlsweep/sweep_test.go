package sqlsweep_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlsweep"
)

// before is a time behind the times of all rows.
const before = 1 << 40

// maintained are a host's recurring calls on a store.
var maintained = map[string]func(context.Context, *sqlsweep.Sweeper, []journal.Fence, int) (int, error){
	"Sweep": func(ctx context.Context, w *sqlsweep.Sweeper, own []journal.Fence, limit int) (int, error) {
		return w.Sweep(ctx, own, before, limit)
	},
	"SweepReceipts": func(ctx context.Context, w *sqlsweep.Sweeper, own []journal.Fence, limit int) (int, error) {
		return w.SweepReceipts(ctx, own, before, limit)
	},
	"SweepLocks": func(ctx context.Context, w *sqlsweep.Sweeper, own []journal.Fence, limit int) (int, error) {
		return w.SweepLocks(ctx, own, limit)
	},
	"Purge": func(ctx context.Context, w *sqlsweep.Sweeper, own []journal.Fence, limit int) (int, error) {
		return w.Purge(ctx, own, limit)
	},
}

// do does one of them, which succeeds.
func (f *fake) do(t *testing.T, what string, limit int) int {
	t.Helper()
	n, err := maintained[what](t.Context(), f.Sweeper, f.own, limit)
	require.NoError(t, err)
	require.LessOrEqual(t, n, max(limit, 0))
	return n
}

// fill adds as many rows of each kind.
func (f *fake) fill(s journal.Shard, n int) {
	for range n {
		f.add(1, s)
		f.addReceipt(1, s)
		f.addLock(s, false)
		f.retire(s, journal.RunID{})
		f.addMail(s, false)
	}
}

// A page, or many, that have nothing of the owner are passed; nothing of another owner is deleted or checked.
func TestPagesOfOthersArePassed(t *testing.T) {
	t.Parallel()
	for what := range maintained {
		for _, limit := range []int{3, journal.SweepBatch, 2 * journal.SweepEntries} {
			f := newFake(t)
			f.own = make(journal.Owned, journal.NumShards)
			f.own[foreign] = f.current[foreign]
			f.fill(mine, journal.SweepEntries+5) // the first in the order of each kind
			f.fill(foreign, 3)
			n := f.do(t, what, limit)
			if what == "Purge" && limit > 3 {
				require.Equal(t, 6, n, "runs and mail")
			} else {
				require.Equal(t, 3, n, "%s %d", what, limit)
			}
			for range 2 {
				f.do(t, what, limit)
			}
			count := map[string]int{
				"Sweep": len(f.runs), "SweepReceipts": len(f.receipts), "SweepLocks": len(f.locks),
				"Purge": min(len(f.retired), len(f.mail)),
			}
			require.Equal(t, journal.SweepEntries+5, count[what], "%s %d", what, limit)
		}
	}
}

// Nothing is done, nor looked at, within no limit.
func TestLimitsOfNothing(t *testing.T) {
	t.Parallel()
	for what := range maintained {
		for _, limit := range []int{0, -1, -1 << 40} {
			f := newFake(t)
			f.fill(mine, 3)
			holder := runIn(also, 1) // has ended
			f.holders = append(f.holders, sqlsweep.Holder{RunKey: holder})
			was := f.clone()
			require.Zero(t, f.do(t, what, limit), "%s %d", what, limit)
			require.Equal(t, was, f.state, "%s %d", what, limit)
			require.Empty(t, f.pages, "%s %d", what, limit)
		}
	}
}

func TestOwnersOfTheWrongForm(t *testing.T) {
	t.Parallel()
	for what, do := range maintained {
		whole := newFake(t).own
		for _, own := range [][]journal.Fence{nil, {}, whole[:also+1], append(whole, journal.Fence{})} {
			f := newFake(t)
			f.fill(mine, 3)
			was := f.clone()
			_, err := do(t.Context(), f.Sweeper, own, 100)
			require.ErrorIs(t, err, journal.ErrFenced, "%s by an owner of %d shards", what, len(own))
			require.ErrorContains(t, err, "fake: ", "the store gives errors their form")
			require.Equal(t, was, f.state, what)
			require.Empty(t, f.txs, what)
		}
	}
}

// Rows of shards that the owner still has, in the same page, stay as well.
func TestStaleOwners(t *testing.T) {
	t.Parallel()
	for what, do := range maintained {
		f := newFake(t)
		f.fill(mine, 3)
		f.fill(also, 3)
		f.claim(also)
		was := f.clone()
		_, err := do(t.Context(), f.Sweeper, f.own, 100)
		require.ErrorIs(t, err, journal.ErrFenced, what)
		require.Equal(t, was, f.state, what)
	}
}

// A claim between two transactions ends the owner's deletions.
func TestOwnersThatBecomeStale(t *testing.T) {
	t.Parallel()
	for what, do := range maintained {
		f := newFake(t)
		f.fill(mine, 2*journal.SweepEntries+5)
		first := f.clone()
		var was state
		f.before = func(tx int) {
			if tx == 2 {
				f.claim(mine)
				was = f.clone()
			}
		}
		_, err := do(t.Context(), f.Sweeper, f.own, 5*journal.SweepEntries)
		require.ErrorIs(t, err, journal.ErrFenced, what)
		require.NotEqual(t, first, f.state, "%s: the claim was not early", what)
		require.Equal(t, was, f.state, what)
		require.Len(t, f.txs, 3, "%s ends", what)
	}
}

// A page may be as long as the limit, as a page of the store, and as both.
func TestPagesAsLongAsTheLimit(t *testing.T) {
	t.Parallel()
	for what, size := range map[string]int{
		"Sweep": journal.SweepBatch, "SweepReceipts": journal.SweepEntries, "SweepLocks": journal.SweepBatch,
	} {
		for _, limit := range []int{1, 5, size - 1, size, size + 1, 2 * size} {
			f := newFake(t)
			f.fill(mine, limit+1)
			require.Equal(t, limit, f.do(t, what, limit), "%s %d of one more", what, limit)
			require.Equal(t, 1, f.do(t, what, limit), "%s: the rest", what)
			require.Zero(t, f.do(t, what, limit), what)
			f.fill(mine, limit)
			require.Equal(t, limit, f.do(t, what, limit), "%s %d of as many", what, limit)
			require.Zero(t, f.do(t, what, limit), what)
		}
	}
}

// cutRuns adds runs of each kind; the deletable ones have so many receipts.
func (f *fake) cutRuns(receipts ...int) (gone, kept []journal.RunKey) {
	parent := runIn(mine, 1<<20)
	f.live[parent] = true
	at := int64(0)
	next := func() int64 { at++; return at }
	for _, n := range receipts {
		kept = append(kept,
			f.add(next(), mine, func(r *fakeRun) { r.asker = parent }),
			f.add(next(), foreign, func(r *fakeRun) { r.asker = parent }),
			f.add(next(), foreign),
			f.add(next(), also, func(r *fakeRun) { r.linked = true }))
		run := f.add(next(), mine)
		id := f.runs[len(f.runs)-1].ID
		f.rows[rowsKey("receipts", id[:])] = times(n, 10)
		gone = append(gone, run)
	}
	return gone, append(kept, f.add(next(), mine, func(r *fakeRun) { r.asker = parent }))
}

// Runs whose receipts do not fit into one transaction go in the next ones, whatever stands between them.
func TestRunsThatDoNotFit(t *testing.T) {
	t.Parallel()
	const all = journal.SweepEntries
	for _, receipts := range [][]int{
		{10, all, 10},
		{all, all, all},
		{all + 1},
		{3*all + 1, 1, 3 * all},
		{0, all - 1, 1, 1},
		{all / 2, all, 0, 0, all},
	} {
		for _, full := range []bool{false, true} {
			for _, limit := range []int{1, 2, 100} {
				f := newFake(t)
				f.full = full
				gone, kept := f.cutRuns(receipts...)
				n := 0
				for range len(gone) {
					n += f.do(t, "Sweep", limit)
				}
				require.Equal(t, len(gone), n, "%v, %d", receipts, limit)
				require.Zero(t, f.do(t, "Sweep", limit), "and the last ones are held")
				require.Len(t, f.runs, len(kept))
				for i := range f.runs {
					r := &f.runs[i]
					require.Contains(t, kept, r.key())
					held := r.ID.Shard() == mine
					require.Equal(t, held, r.heldBy != journal.RunKey{}, "only runs of the owner are held: %v", r)
				}
				require.Zero(t, f.left(), "no receipt of a run that is gone")
			}
		}
	}
}

// A sweep that is cut looks at the rest, and at nothing twice but the rows behind the cut.
func TestRunsThatDoNotFitAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.cutRuns(10, journal.SweepEntries, 10, 10)
	require.Equal(t, 4, f.do(t, "Sweep", 100))
	var listed, runs, rows []int
	for _, tx := range f.txs {
		listed, runs, rows = append(listed, tx.listed), append(runs, tx.runs), append(rows, tx.rows)
	}
	// The first looks for holders. The next finds all 21, holds five and deletes one. The rows before that one are
	// not looked at again, and neither are the four that are held behind it.
	require.Equal(t, []int{0, 21, 12}, listed)
	require.Equal(t, []int{0, 1, 3}, runs)
	require.Equal(t, []int{0, journal.SweepEntries, 30}, rows)
}

// The rows held by a finished run are free, and go by the same sweep.
func TestHoldersAreFreed(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, journal.SweepBatch, 2*journal.SweepBatch + 50} {
		f := newFake(t)
		holder := runIn(also, 1<<20)
		for _, h := range []journal.RunKey{holder, runIn(foreign, 1), runIn(mine, 1<<20)} {
			f.holders = append(f.holders, sqlsweep.Holder{RunKey: h})
		}
		for range size {
			f.add(1, mine, func(r *fakeRun) { r.asker, r.heldBy = holder, holder })
			from := journal.Caller{ID: idIn(also, 1<<20), Run: holder.Run}
			f.addReceipt(1, mine, func(r *fakeReceipt) { r.from, r.held = from, true })
		}
		require.Equal(t, size, f.do(t, "Sweep", 1000))
		require.Equal(t, []sqlsweep.Holder{{RunKey: runIn(foreign, 1)}}, f.holders, "others free theirs")
		last := size / journal.SweepBatch // of the first holder; the other one holds nothing
		for i, tx := range f.txs {
			require.Equal(t, i <= last+1, tx.frees == 1, "transaction %d", i)
			require.Equal(t, i == last || i == last+1, tx.clears == 1, "transaction %d", i)
		}
		require.Equal(t, size, f.do(t, "SweepReceipts", 1000), "they were freed as well")
	}
}

// A holder of another owner's is left to that one, and so is one whose shard was claimed.
func TestHoldersOfAStaleOwner(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.fill(mine, 3)
	f.holders = append(f.holders, sqlsweep.Holder{RunKey: runIn(also, 1)})
	f.claim(also)
	was := f.clone()
	for _, what := range []string{"Sweep", "SweepReceipts"} {
		_, err := maintained[what](t.Context(), f.Sweeper, f.own, 100)
		require.ErrorIs(t, err, journal.ErrFenced, what)
		require.Equal(t, was, f.state, what)
	}
}
