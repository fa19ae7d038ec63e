package journal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestWriteCheck(t *testing.T) {
	t.Parallel()
	run := journal.RunID{1}
	id, other := journal.IDOf("n", "d/W", "1"), journal.IDOf("n", "d/W", "2")
	for name, c := range map[string]struct {
		write journal.Write
		says  string
	}{
		"no execution": {journal.Write{}, "without an execution id"},
		"of another execution": {
			journal.Write{ID: id, Run: run, Start: &journal.Execution{ID: other, Run: journal.RunID(other)}},
			"starts execution",
		},
		"no run":         {journal.Write{ID: id, Entries: []journal.Entry{{Seq: 1}}}, "without a run id"},
		"of another run": {journal.Write{ID: id, Run: run, Start: &journal.Execution{ID: id}}, "starts run"},
		"a link and a start": {
			journal.Write{ID: id, Run: run, Start: &journal.Execution{ID: id, Run: run}, Link: &journal.Link{}},
			"a link beside",
		},
		"sequence number 0": {
			journal.Write{ID: id, Run: run, Entries: []journal.Entry{{Seq: 1}, {Seq: 0}}}, "sequence number 0",
		},
		"too large a number": {
			journal.Write{ID: id, Run: run, Entries: []journal.Entry{{Seq: math.MaxInt64 + 1}}},
			"sequence number 9223372036854775808",
		},
		"deferred, no name": {
			journal.Write{ID: id, Run: run, Receive: (&journal.Deferred{}).Message()}, "settles no deferred",
		},
	} {
		require.ErrorContains(t, c.write.Check(), c.says, name)
	}
	valid := journal.Write{
		ID: id, Run: run, Start: &journal.Execution{ID: id, Run: run},
		Entries: []journal.Entry{{Seq: 1}, {Seq: math.MaxInt64}}, Receive: (&journal.Deferred{Name: "paid"}).Message(),
	}
	require.NoError(t, valid.Check())
}

// Every part that takes room counts.
func TestWriteSize(t *testing.T) {
	t.Parallel()
	large := make([]byte, 1000)
	empty := (&journal.Write{}).Size()
	require.Positive(t, empty)
	for name, w := range map[string]journal.Write{
		"input":      {Start: &journal.Execution{Input: large}},
		"key":        {Start: &journal.Execution{Key: string(large)}},
		"value":      {Entries: []journal.Entry{{Value: large}}},
		"op":         {Entries: []journal.Entry{{Op: journal.Op{Name: string(large)}}}},
		"error":      {Entries: []journal.Entry{{Error: &abi.Error{Message: string(large)}}}},
		"result":     {Update: &journal.Update{Value: large}},
		"message":    {Receive: &journal.Message{Value: large}},
		"sent":       {Send: []journal.Sent{{Message: journal.Message{Value: large}}}},
		"receipt":    {Receipts: []journal.Receipt{{Value: large}}},
		"refusal":    {Receipts: []journal.Receipt{{Error: &abi.Error{Message: string(large)}}}},
		"entity":     {Entity: &journal.Entity{State: large}},
		"taken":      {Take: make([]uint64, len(large))},
		"settlement": {Receive: (&journal.Deferred{Value: large}).Message()},
	} {
		require.GreaterOrEqual(t, w.Size(), empty+len(large), name)
	}
}
