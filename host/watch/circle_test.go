package watch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestCircle(t *testing.T) {
	t.Parallel()
	list := NewList()
	waits := func(caller, callee byte) *Watcher {
		return list.AddCaller(journal.ID{callee}, journal.ID{caller}, func(*journal.Execution) bool { return true })
	}
	circle := func(first byte) (ids []byte) {
		for _, id := range list.Circle(journal.ID{first}) {
			ids = append(ids, id[0])
		}
		return ids
	}
	list.Add(journal.ID{1}, func(*journal.Execution) bool { return true }) // a client
	waits(1, 2)
	waits(2, 3)
	waits(4, 1)
	waits(4, 3)
	require.Nil(t, circle(1))
	require.Nil(t, circle(9))

	back := waits(3, 1)
	require.Equal(t, []byte{1, 2, 3}, circle(1))
	require.Equal(t, []byte{2, 3, 1}, circle(2))
	require.Equal(t, []byte{3, 1, 2}, circle(3))
	require.Nil(t, circle(4), "it waits for those in the circle, and none of them waits for it")
	waits(2, 1)
	require.Equal(t, []byte{1, 2}, circle(1), "the shorter of two")

	list.Remove(journal.ID{1}, back)
	require.Nil(t, circle(3))
}

// Any number may wait for an execution.
func TestCircleIsBounded(t *testing.T) {
	t.Parallel()
	list := NewList()
	for i := range 10 * maxCallers {
		list.AddCaller(journal.ID{}, journal.ID{1, byte(i), byte(i >> 8)}, func(*journal.Execution) bool { return true })
		list.AddCaller(journal.ID{1, byte(i), byte(i >> 8)}, journal.ID{2, byte(i), byte(i >> 8)}, func(*journal.Execution) bool { return true })
	}
	require.Nil(t, list.Circle(journal.ID{}))
}
