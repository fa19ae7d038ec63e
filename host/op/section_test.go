package op_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// TestSectionEnds: an unlock ends a section once no call of it waits for its answer.
func TestSectionEnds(t *testing.T) {
	t.Parallel()
	issue := func(kind string, number uint32) *op.Op {
		return &op.Op{Op: journal.Op{Kind: kind, Number: number}, StepID: journal.StepID{byte(number)}}
	}
	lock, call, unlock, behind := issue(abi.OpLock, 2), issue(
		abi.OpEntityCall, 3,
	), issue(abi.OpUnlock, 4), issue(abi.OpEntityCall, 5)
	in := op.Section{Step: lock.StepID, Number: 2}
	again := op.Section{Step: journal.StepID{6}, Number: 6}
	ending := op.Section{Step: lock.StepID, Number: 2, Until: 4}
	for name, c := range map[string]struct {
		before    op.Section
		delivered []uint32
		issued    []*op.Op
		cancelled []uint32
		open      []*op.Op // after the turn
		want      op.Section
	}{
		"nothing is called": {before: in, issued: []*op.Op{unlock}, open: []*op.Op{unlock}},
		"a call waits": {
			before: in, issued: []*op.Op{unlock}, open: []*op.Op{call, unlock}, want: ending,
		},
		"issued with the unlock": {
			before: in, issued: []*op.Op{call, unlock}, open: []*op.Op{call, unlock}, want: ending,
		},
		"the unlock is not heard": {
			before: in, issued: []*op.Op{unlock}, cancelled: []uint32{4}, open: []*op.Op{call}, want: ending,
		},
		"answered meanwhile": {
			before: in, delivered: []uint32{3}, issued: []*op.Op{unlock}, open: []*op.Op{unlock},
		},
		"answered later": {before: ending, delivered: []uint32{3}, open: []*op.Op{unlock}},
		"given up later": {before: ending, cancelled: []uint32{3}, open: []*op.Op{unlock}},
		"something else comes": {
			before: ending, delivered: []uint32{7}, open: []*op.Op{call, unlock}, want: ending,
		},
		"a call behind it": {
			before: ending, delivered: []uint32{3}, issued: []*op.Op{behind}, open: []*op.Op{unlock, behind},
		},
		"unlocked twice": {
			before: ending, issued: []*op.Op{issue(abi.OpUnlock, 6)}, open: []*op.Op{call, unlock}, want: ending,
		},
		"locked again": {
			before:    ending,
			delivered: []uint32{3},
			issued:    []*op.Op{issue(abi.OpLock, 6)},
			open:      []*op.Op{unlock},
			want:      again,
		},
		"locked again too early": {
			before: ending, issued: []*op.Op{issue(abi.OpLock, 6)}, open: []*op.Op{call, unlock}, want: ending,
		},
		"before the lock is there": {before: in, issued: []*op.Op{unlock}, open: []*op.Op{lock, call, unlock}},
		"another kind of op waits": {
			before: in, issued: []*op.Op{unlock}, open: []*op.Op{issue(abi.OpActivity, 3), unlock},
		},
		"an unlock without a lock": {issued: []*op.Op{unlock}, open: []*op.Op{unlock}},
		"the lock is taken back":   {before: in, cancelled: []uint32{2}, open: []*op.Op{call}},
		"locked behind, in one turn": {
			before: in, issued: []*op.Op{unlock, issue(abi.OpLock, 6)}, open: []*op.Op{unlock}, want: again,
		},
	} {
		var entries []journal.Entry
		for _, number := range c.delivered {
			entries = append(entries, journal.Entry{Op: journal.Op{Number: number}})
		}
		require.Equal(t, c.want, c.before.After(entries, c.issued, c.cancelled, slices.Values(c.open)), name)
	}
	require.Equal(t, lock.StepID, ending.Of(call))
	require.Zero(t, ending.Of(behind), "it was issued behind the section")
	require.NotNil(t, ending.Refuses(issue(abi.OpLock, 6), slices.Values([]*op.Op{call})))
}
