package entity

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// TestMessageTakenWhileTheInboxIsRead is not performed again: the page was read before the batch that took the message
// had committed, and arrives after that.
func TestMessageTakenWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			id := refTo("a").ID()
			f.fill(
				id,
				call.Posted(
					journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: journal.NewOrigin()},
					journal.Caller{},
					call.Parcel{Entity: refTo("a").String(), Namespace: "default", Input: add("a", 1).Input},
				),
			)
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
			e.queue, e.batch = nil, []*call.Call{at}
			e.unqueue(at)

			e.fetching, e.taken, e.unread = true, map[uint64]bool{}, false
			late := read()
			e.endBatch(batch.Result{Answers: map[*call.Call]call.Answer{at: {}}})
			e.unread = true // there is another message
			e.takeFetched(late)
			require.Empty(t, e.queue)
			require.False(t, e.barren, "the other message is read for")
		})
	})
}

// reads has an entity that is in no registry read its inbox: the page is read now, and handed over later.
func reads(t *testing.T, e *entity) (handOver func()) {
	t.Helper()
	e.fetching, e.taken, e.told, e.awaited, e.unread = true, map[uint64]bool{}, 0, len(e.joining), false
	p, err := e.entities.readInbox(e.id)
	require.NoError(t, err)
	p.acked = e.acked
	return func() { e.takeFetched(fetched{p, nil}) }
}

// TestMailWhileAnEmptyInboxIsRead has the inbox read once more, although nothing is at work.
func TestMailWhileAnEmptyInboxIsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		e := newEntity(f.x, refTo("a").ID())
		handOver := reads(t, e)
		e.receive(mail{1})
		handOver()
		require.True(t, e.unread)
		require.False(t, e.barren)
	})
}

// TestRepeatedCallWhileTheInboxIsRead waits for its message, which the page that is being read
// does not have: it was sent meanwhile, and has not been performed.
func TestRepeatedCallWhileTheInboxIsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, _ := newLedger(t, kind)
		req := gateway("save").by(origin(1))
		e := newEntity(f.x, req.Entity.ID())
		handOver := reads(t, e)
		f.fill(
			e.id,
			call.Posted(
				journal.Envelope{Kind: journal.CallMessage, Name: "save", Origin: origin(1), Repeatable: true},
				journal.Caller{},
				call.Parcel{Entity: req.Entity.String(), Namespace: "default"},
			),
		)
		repeated, err := f.x.newCall(t.Context(), req)
		require.NoError(t, err)
		repeated.Joins, repeated.Waiters = true, []*call.Waiter{{Answer: make(chan call.Answer, 1)}}
		e.receive(arrival{repeated})
		handOver()
		require.Equal(t, []*call.Call{repeated}, e.joining, "it is not said to be gone")
		reads(t, e)()
		require.Empty(t, e.joining)
		require.Len(t, e.concurrent, 1)
		require.Len(t, e.concurrent[0].Waiters, 1)
	})
}

// TestOvertakenMessageIsReadWhateverIsInMemory: calls may wait for it in front of all that.
func TestOvertakenMessageIsReadWhateverIsInMemory(t *testing.T) {
	t.Parallel()
	f := newFixture(t, stores[0])
	e := newEntity(f.x, refTo("a").ID())
	for position := uint64(10); len(e.positions) <= maxFetched; position++ {
		e.positions[position] = &call.Call{Position: position}
		e.seen = position
	}
	e.unread = true
	e.beginFetch()
	require.False(t, e.fetching)
	e.hear(6)
	require.EqualValues(t, 5, e.seen)
	e.beginFetch()
	require.True(t, e.fetching)
}
