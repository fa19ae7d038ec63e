package guest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReadyQueueIsFirstInFirstOut(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var q readyQueue
		pushed, popped := 0, 0
		for _, push := range rapid.SliceOfN(rapid.Bool(), 0, 300).Draw(t, "pushes") {
			if push {
				q.push(&Coroutine{id: pushed})
				pushed++
			} else if !q.empty() {
				co := q.pop()
				require.Equal(t, popped, co.id)
				require.False(t, q.contains(co))
				popped++
			}
			require.Equal(t, pushed == popped, q.empty())
		}
	})
}

func TestPendingOpsAreThoseThatWereAdded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var ops pendingOps
		first := &Promise{op: 1}
		ops.add(first)
		want := map[uint32]*Promise{1: first}
		for n := range uint32(rapid.IntRange(0, 50).Draw(t, "steps")) {
			if rapid.Bool().Draw(t, "add") {
				want[n+2] = &Promise{op: n + 2}
				ops.add(want[n+2])
			}
			op := rapid.Uint32Range(1, n+3).Draw(t, "op")
			require.Same(t, want[op], ops.take(op))
			delete(want, op)
			others := len(want)
			if want[1] != nil {
				others--
			}
			require.Equal(t, others > 0, ops.hasOther(first))
		}
	})
}
