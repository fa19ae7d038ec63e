package observe

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/memory"
)

// TestSkimJournal looks through a journal of more than a page.
func TestSkimJournal(t *testing.T) {
	t.Parallel()
	store := memory.New()
	o := newObserver(Deps{Store: store})
	fences, err := store.ClaimShards(t.Context(), "test")
	require.NoError(t, err)
	id, run := journal.IDOf("default", "tiny/W", "a"), journal.NewRunID()
	row := &journal.Execution{
		ID: id, Run: run, Chain: run, Namespace: "default", Workflow: "tiny/W", Key: "a", State: journal.Running,
	}
	w := journal.Write{ID: id, Run: run, Chain: run, Start: row, Fence: fences[id.Shard()]}
	_, err = store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	w.Start = nil
	const page = 256 // as journal.Scan reads it
	for seq := range uint64(2*page + 1) {
		w.Entries = append(w.Entries, journal.Entry{Seq: seq + 1, Kind: journal.Delivery})
	}
	patched := func(seq uint64, id string, value any) {
		en := &w.Entries[seq-1]
		en.Op, en.Value = journal.Op{Kind: abi.OpPatched, Name: id}, abi.MustMarshal(value)
	}
	patched(2, "tax", true)
	patched(3, "tax", true)
	patched(page+5, "audit", false)
	patched(page+6, "broken", "no answer")
	w.Entries[2*page].Kind = journal.Moved
	w.Entries[2*page].Value = abi.MustMarshal(&journal.Move{Declined: []string{"early", "audit"}})
	_, err = store.Commit(t.Context(), []journal.Write{w})
	require.NoError(t, err)
	n, patches, err := o.skimJournal(t.Context(), journal.KeyOf(w.ID, w.Run))
	require.NoError(t, err)
	require.Equal(t, 2*page+1, n)
	require.Equal(t, []Patch{
		{ID: "tax", Taken: true, Seq: 2}, {ID: "audit", Seq: page + 5}, {ID: "early", Seq: 2*page + 1},
	}, patches)
}
