package recode

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/journal"
)

// TestTakeOver: a fork takes over messages that were delivered by then, also if the clock was set
// back in between, and messages that had come by then. Later ones it does not.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	b := beginning{entries: []journal.Entry{
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpDeferred, Name: "delivered"}, Seq: 1, At: 5},
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpInterrupted}, Seq: 2, At: 5},
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpActivity, Name: "later"}, Seq: 3, At: 6},
	}}
	var taken []string
	for _, d := range b.takeOver(
		[]journal.Settlement{{Name: "delivered", At: 10}, {Name: "came", At: 6}, {Name: "later", At: 7}},
		&journal.Interrupt{At: 10},
	) {
		taken = append(taken, d.Name)
	}
	require.Equal(t, []string{"delivered", "came"}, taken)
	require.NotNil(t, b.interrupt)

	b = beginning{entries: b.entries[2:]}
	b.takeOver(nil, &journal.Interrupt{At: 10})
	require.Nil(t, b.interrupt)
}

// scanned is a journal in pages of one entry.
type scanned struct {
	journal.Store
	entries []journal.Entry
}

func (s scanned) Entries(
	_ context.Context, _ journal.RunKey, after uint64, _ journal.PageLimit,
) ([]journal.Entry, bool, error) {
	return s.entries[after : after+1], int(after)+1 < len(s.entries), nil
}

// TestForksTakeMemory: the state a fork takes over is in memory, errors as well as values, and is
// admitted entry by entry.
func TestForksTakeMemory(t *testing.T) {
	t.Parallel()
	const size = 100 << 10
	var store scanned
	for seq := range uint64(10) {
		en := journal.Entry{
			Kind: journal.Delivery, Seq: seq + 1, Op: journal.Op{Kind: abi.OpActivity, Name: "a", Number: uint32(seq)},
		}
		if seq%2 == 0 {
			en.Value = make([]byte, size)
		} else {
			en.Error = &abi.Error{Details: make([]byte, size)}
		}
		store.entries = append(store.entries, en)
	}
	reader, row := forkReader{store: store}, &journal.Execution{ID: journal.ID{1}, Run: journal.NewRunID()}
	for _, c := range []struct {
		total, others int64
		want          abi.Code
	}{
		{30 * size, 0, ""},
		{30 * size, 20 * size, abi.CodeOverloaded},
		{15 * size, 0, abi.CodeExecutionTooLong},
	} {
		b := budget.New(c.total)
		require.True(t, b.Empty().Grow(c.others))
		memory := b.Empty()
		_, err := reader.splitJournal(t.Context(), row, 10, memory)
		require.Equal(t, c.want, abi.CodeOf(err), "%v", err)
		if c.want == "" {
			require.Greater(t, memory.Bytes(), int64(20*size))
			require.Less(t, memory.Bytes(), int64(22*size))
		}
	}
}
