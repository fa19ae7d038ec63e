package call

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCutBatch(t *testing.T) {
	t.Parallel()
	plain := func(n, bytes int) (calls []*Call) {
		for range n {
			calls = append(calls, &Call{Input: make([]byte, bytes)})
		}
		return calls
	}
	after := func(position uint64) *Call { return &Call{After: position} }
	for name, c := range map[string]struct {
		queue []*Call
		seen  uint64
		want  int
	}{
		"nothing":                         {nil, 0, 0},
		"a few":                           {plain(3, 1), 0, 3},
		"too many":                        {plain(MaxBatch+1, 1), 0, MaxBatch},
		"too many bytes":                  {plain(3, MaxBatchBytes/2), 0, 2},
		"a large one":                     {plain(2, 2*MaxBatchBytes), 0, 1},
		"a destruction is alone":          {append([]*Call{{Kind: Destroy}}, plain(2, 1)...), 0, 1},
		"up to a destruction":             {append(plain(2, 1), &Call{Kind: Destroy}), 0, 2},
		"one that waits for messages":     {[]*Call{after(5)}, 4, 0},
		"up to one that waits":            {[]*Call{after(4), after(5), after(4)}, 4, 1},
		"one whose messages are in front": {[]*Call{after(5)}, 5, 1},
	} {
		require.Equal(t, c.want, CutBatch(c.queue, c.seen), name)
	}
}

func TestInsertMessage(t *testing.T) {
	t.Parallel()
	first, second := &Call{After: 3}, &Call{After: 7}
	message := func(position uint64) *Call { return &Call{Position: position} }
	queue := []*Call{first, second}
	m2, m5, m8, m6 := message(2), message(5), message(8), message(6)
	for _, m := range []*Call{m2, m5, m8, m6} {
		queue = InsertMessage(queue, m)
	}
	require.Equal(t, []*Call{m2, first, m5, m6, second, m8}, queue)
}

// TestMessageInFrontOfACall: a call that is in the inbox itself, and came into memory with its
// caller, stays behind the messages that were there before it.
func TestMessageInFrontOfACall(t *testing.T) {
	t.Parallel()
	c, m := &Call{Position: 5, After: 4}, &Call{Position: 4}
	require.Equal(t, []*Call{m, c}, InsertMessage([]*Call{c}, m))
}
