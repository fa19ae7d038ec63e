package execution

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/execution/ledger"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// TestSettledValuesStayInTheStore settles many large deferreds that the workflow has not asked for, and then has it ask
// for all of them at once.
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
		f.scripts["w"] = slices.Concat(
			[]string{"deferred go", strings.Join(askForAll, " ; ")}, slices.Repeat([]string{"park"}, n-1),
			[]string{"done ok"},
		)
		r := newRun(f.x.shared, row.ID)
		w := journal.Write{ID: row.ID, Run: row.Run, Start: row}
		_, err := f.commits.Commit(w)
		require.NoError(t, err)
		r.Receive([]notice{started{row: row}})
		settle := func(names ...string) {
			var arrived []notice
			for _, name := range names {
				value := abi.MustMarshal(strings.Repeat(name, (3<<20)/len(name)))
				if name == "go" {
					value = abi.Nil
				}
				arrived = append(
					arrived,
					f.settled(t, r, journal.Deferred{Name: name, Value: value, At: 1, Origin: journal.NewOrigin()}),
				)
			}
			for range r.Receive(arrived) {
				t.Fatal("it is to be received again")
			}
		}
		for i := range n {
			settle(fmt.Sprintf("d%d", i))
			require.Empty(t, r.mail.deferreds.inHand)
		}
		require.Len(t, r.mail.deferreds.settled, n)
		require.Zero(t, f.reads)
		largest := 0
		f.commits.seen = func(w journal.Write) {
			held := 0
			r.ledger.With(func(l *ledger.Ledger) {
				for o := range l.Ops().All() {
					if o.Outcome != nil {
						held += len(o.Outcome.Value)
					}
				}
			})
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

// TestUnreadSettlementsAreReadAgain has the store fail when a settled deferred is to be delivered: it is delivered
// later, and what else was in hand is not lost.
func TestUnreadSettlementsAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d ; deferred e", "done ok"}
		row := rowOf("w", "k")
		_, err := f.commits.Commit(journal.Write{ID: row.ID, Run: row.Run, Start: row})
		require.NoError(t, err)
		r := newRun(f.x.shared, row.ID)
		r.Receive([]notice{started{row: row}})
		arrived := []notice{
			f.settled(t, r, journal.Deferred{
				Name: "d", Value: abi.MustMarshal(strings.Repeat("x", 2*largevalue.MaxInHand)),
			}),
			f.settled(t, r, journal.Deferred{Name: "e", Value: abi.Nil}),
		}
		f.noLoads = 3
		again := r.Receive(arrived)
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

// TestSettlementsAreBounded has an execution be settled with as much as it may.
func TestSettlementsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.scripts["w"] = []string{"deferred d", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		of := row.Settlements()
		entity := journal.EntityID("default", "bank/Teller", "settles")
		fill := journal.Write{ID: entity}
		for n := range journal.MaxSettled {
			fill.Send = append(fill.Send, journal.Sent{
				To: of.ID, Chain: of.Chain, Message: *(&journal.Deferred{Name: fmt.Sprint(n)}).Message(),
			})
		}
		_, err = f.commits.Commit(fill)
		require.NoError(t, err)
		settle := func(name string) error {
			return f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{
				Name: name, Value: abi.MustMarshal("yes"),
			})
		}
		require.Equal(t, abi.CodeExecutionTooLong, abi.CodeOf(settle("d")))
		require.Equal(t, abi.CodeDeferredSettled, abi.CodeOf(settle("7")), "what is settled is told first")
		list, err := journal.ListSettlements(t.Context(), f.store, of)
		require.NoError(t, err)
		require.Len(t, list, journal.MaxSettled)
	})
}
