package client

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// TestStreamsAreNotKept if they are idle or old: later calls find another one, those under way
// keep theirs.
func TestStreamsAreNotKept(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		age        time.Duration
		calledLast bool // since the last look
		waits      bool
		kept       bool
	}{
		"Used":       {calledLast: true, kept: true},
		"Awaited":    {waits: true, kept: true},
		"Idle":       {},
		"Old":        {age: maxStreamAge, calledLast: true},
		"OldAwaited": {age: maxStreamAge, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := &shared{}
			s := newCallStream(all)
			all.stream = s
			require.True(t, s.add(&crusterv1.StreamedCall{}, &awaited{reply: &crusterv1.CallResponse{}, done: make(chan error, 1)}))
			s.begun = s.begun.Add(-tc.age)
			if !tc.calledLast {
				s.lookedAt = s.last
			}
			answer := []*crusterv1.StreamedAnswer{{Id: s.last, Response: &crusterv1.CallResponse{}}}
			if !tc.waits {
				s.hand(answer)
			}
			s.look()
			require.Equal(t, tc.kept, all.stream == s)
			require.Equal(t, tc.kept, s.add(&crusterv1.StreamedCall{}, &awaited{done: make(chan error, 1)}))
			if tc.waits && !tc.kept {
				require.False(t, s.isDone())
				s.hand(answer)
				require.Len(t, s.wake, 1, "the stream is told that it can end")
			}
			require.Equal(t, !tc.kept, s.isDone())
		})
	}
}
