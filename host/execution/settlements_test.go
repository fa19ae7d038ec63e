package execution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestSettledValuesStayInTheStore settles many large deferreds that the workflow has not
// asked for, and then has it ask for all of them at once.
func TestSettledValuesStayInTheStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 30
		f := newFixture(t)
		row := rowOf("w", "k")
		askForAll := make([]string, n)
		for i := range askForAll {
			askForAll[i] = fmt.Sprintf("deferred d%d", i)
		}
		f.scripts["w"] = slices.Concat([]string{"deferred go", strings.Join(askForAll, " ; ")}, slices.Repeat([]string{"park"}, n-1), []string{"done ok"})
		r := newRun(f.x, row.ID)
		w := journal.Write{ID: row.ID, Run: row.Run, Start: row}
		_, err := f.commits.Commit(w)
		require.NoError(t, err)
		r.Receive([]notice{started{row: row}})
		settle := func(names ...string) {
			var requests []notice
			reply := make(chan error, len(names))
			for _, name := range names {
				value := abi.MustMarshal(strings.Repeat(name, (3<<20)/len(name)))
				if name == "go" {
					value = abi.Nil
				}
				requests = append(requests, newsRequest{settlementNews{journal.Deferred{Name: name, Value: value, At: 1, Origin: journal.NewOrigin()}}, reply})
			}
			for range r.Receive(requests) {
				t.Fatal("it is to be received again")
			}
			for range names {
				require.NoError(t, <-reply)
			}
		}
		for i := range n {
			settle(fmt.Sprintf("d%d", i))
			require.Empty(t, r.deferreds.inHand)
		}
		require.Len(t, r.deferreds.settled, n)
		require.Zero(t, f.reads)
		largest := 0
		f.commits.seen = func(w journal.Write) {
			held := 0
			for o := range r.ledger.ops.All() {
				if o.Outcome != nil {
					held += len(o.Outcome.Value)
				}
			}
			for _, en := range w.Entries {
				held += len(en.Value)
			}
			largest = max(largest, held)
		}
		settle("go")
		require.Equal(t, journal.Completed, r.row.State)
		require.Equal(t, n, f.reads, "each once, and what is in hand need not be read")
		require.Less(t, largest, 4<<20, "one at a time")
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Bytes: 1 << 30})
		require.NoError(t, err)
		require.Len(t, entries, n+1)
		for i, en := range entries[1:] {
			want := fmt.Sprintf("d%d", i)
			var got string
			require.NoError(t, abi.Unmarshal(en.Value, &got))
			require.Equal(t, strings.Repeat(want, (3<<20)/len(want)), got)
		}
	})
}

// TestUnreadSettlementsAreReadAgain has the store fail when a settled deferred is to be
// delivered: it is delivered later, and what else was in hand is not lost.
func TestUnreadSettlementsAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d ; deferred e", "done ok"}
		row := rowOf("w", "k")
		_, err := f.commits.Commit(journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r := newRun(f.x, row.ID)
		r.Receive([]notice{started{row: row}})
		reply := make(chan error, 2)
		f.noLoads = 3
		again := r.Receive([]notice{
			newsRequest{settlementNews{journal.Deferred{Name: "d", Value: abi.MustMarshal(strings.Repeat("x", 2*maxInHand))}}, reply},
			newsRequest{settlementNews{journal.Deferred{Name: "e", Value: abi.Nil}}, reply},
		})
		require.NoError(t, <-reply)
		require.NoError(t, <-reply)
		for len(again) > 0 {
			again = r.Receive(again)
		}
		require.Zero(t, f.noLoads)
		require.Equal(t, journal.Completed, r.row.State)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{})
		require.NoError(t, err)
		require.Len(t, entries, 2)
	})
}

func TestSettlementsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.commits.Commit(journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r := newRun(f.x, row.ID)
		defer r.dropGuest()
		r.Receive([]notice{started{row: row}})
		d := journal.Deferred{Name: "d", Value: abi.MustMarshal("yes")}

		many := make([]journal.Settlement, maxSettled)
		for i := range many {
			many[i].Name = fmt.Sprint(i)
		}
		for name, settled := range map[string][]journal.Settlement{
			"many":  many,
			"large": {{Name: "a", Bytes: maxSettledBytes / 2}, {Name: "b", Bytes: maxSettledBytes/2 - 3}},
		} {
			r.deferreds.set(row.Settlements(), settled)
			require.Equal(t, abi.CodeExecutionTooLong, abi.CodeOf(r.learn(settlementNews{d})), name)
			again := journal.Deferred{Name: settled[1].Name, Origin: journal.NewOrigin()}
			require.Equal(t, abi.CodeDeferredSettled, abi.CodeOf(r.learn(settlementNews{again})), "%s: what is settled is told first", name)
			found, err := journal.ListSettlements(t.Context(), f.store, row.Settlements())
			require.NoError(t, err)
			require.Empty(t, found, name)
			settled[0].Bytes -= 2
			r.deferreds.set(row.Settlements(), settled[:len(settled)-1])
			require.NoError(t, r.deferreds.full(d, "w"), name)
		}
		r.deferreds.set(row.Settlements(), nil)
		require.NoError(t, r.learn(settlementNews{d}))
	})
}
