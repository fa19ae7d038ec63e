package entity

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/journal"
)

// TestMessageTakenWhileTheInboxIsRead is not performed again: the page was read before the
// batch that took the message had committed, and arrives after that.
func TestMessageTakenWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			id := refTo("a").ID()
			f.fill(id, posted(journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: journal.NewOrigin()}, journal.Caller{},
				parcel{Entity: refTo("a").String(), Namespace: "default", Input: add("a", 1).Input}))
			read := func() fetched {
				p, err := f.x.readInbox(id)
				require.NoError(t, err)
				require.Len(t, p.calls, 1)
				return fetched{p, nil}
			}
			e := newEntity(f.x, id)
			e.takeFetched(read())
			require.Len(t, e.queue, 1)
			at := e.queue[0]
			e.queue, e.batch = nil, []*call{at}
			e.unqueue(at)

			e.fetching, e.taken, e.unread = true, map[uint64]bool{}, false
			late := read()
			e.endBatch(batchResult{answers: map[*call]answer{at: {}}})
			e.unread = true // there is another message
			e.takeFetched(late)
			require.Empty(t, e.queue)
			require.False(t, e.barren, "the other message is read for")
		})
	})
}
