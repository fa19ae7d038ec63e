package entity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

func TestCutBatch(t *testing.T) {
	t.Parallel()
	plain := func(n, bytes int) (calls []*call) {
		for range n {
			calls = append(calls, &call{input: make([]byte, bytes)})
		}
		return calls
	}
	after := func(position uint64) *call { return &call{after: position} }
	for name, c := range map[string]struct {
		queue []*call
		seen  uint64
		want  int
	}{
		"nothing":                         {nil, 0, 0},
		"a few":                           {plain(3, 1), 0, 3},
		"too many":                        {plain(maxBatch+1, 1), 0, maxBatch},
		"too many bytes":                  {plain(3, maxBatchBytes/2), 0, 2},
		"a large one":                     {plain(2, 2*maxBatchBytes), 0, 1},
		"a destruction is alone":          {append([]*call{{kind: destroy}}, plain(2, 1)...), 0, 1},
		"up to a destruction":             {append(plain(2, 1), &call{kind: destroy}), 0, 2},
		"one that waits for messages":     {[]*call{after(5)}, 4, 0},
		"up to one that waits":            {[]*call{after(4), after(5), after(4)}, 4, 1},
		"one whose messages are in front": {[]*call{after(5)}, 5, 1},
	} {
		require.Equal(t, c.want, cutBatch(c.queue, c.seen), name)
	}
}

func TestInsertMessage(t *testing.T) {
	t.Parallel()
	first, second := &call{after: 3}, &call{after: 7}
	message := func(position uint64) *call { return &call{position: position} }
	queue := []*call{first, second}
	m2, m5, m8, m6 := message(2), message(5), message(8), message(6)
	for _, m := range []*call{m2, m5, m8, m6} {
		queue = insertMessage(queue, m)
	}
	require.Equal(t, []*call{m2, first, m5, m6, second, m8}, queue)
}

// TestMessageInFrontOfACall: a call that is in the inbox itself, and came into memory with its
// caller, stays behind the messages that were there before it.
func TestMessageInFrontOfACall(t *testing.T) {
	t.Parallel()
	c, m := &call{position: 5, after: 4}, &call{position: 4}
	require.Equal(t, []*call{m, c}, insertMessage([]*call{c}, m))
}

func TestRecent(t *testing.T) {
	t.Parallel()
	var r recent
	nth := func(n int) journal.Origin { return journal.Origin{byte(n), byte(n >> 8), 1} }
	for n := range maxRecent + 10 {
		r.add(nth(n))
		r.add(nth(n))
	}
	for n := range maxRecent + 10 {
		require.Equal(t, n >= 10, r.has(nth(n)), n)
	}
	require.Len(t, r.known, maxRecent)
}
