package execution

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestTakeOver: a fork takes over what was delivered by then, also if the clock was set
// back in between, and what had come by then. What came later it does not.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	b := beginning{entries: []journal.Entry{
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpDeferred, Name: "delivered"}, Seq: 1, At: 5},
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpInterrupted}, Seq: 2, At: 5},
		{Kind: journal.Delivery, Op: journal.Op{Kind: abi.OpActivity, Name: "later"}, Seq: 3, At: 6},
	}}
	var taken []string
	for _, d := range b.takeOver([]journal.Settlement{{Name: "delivered", At: 10}, {Name: "came", At: 6}, {Name: "later", At: 7}}, &journal.Interrupt{At: 10}) {
		taken = append(taken, d.Name)
	}
	require.Equal(t, []string{"delivered", "came"}, taken)
	require.NotNil(t, b.interrupt)

	b = beginning{entries: b.entries[2:]}
	b.takeOver(nil, &journal.Interrupt{At: 10})
	require.Nil(t, b.interrupt)
}
