package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/cruster/cruster/journal"
)

var mailConcurrencyTests = []test{
	{"OneOfAnOriginWins", nil, testOneMessageWins},
	{"TakenOnceEach", nil, testMailHammer},
	{"RepeatedWhileTaken", nil, testRepeatedWhileTaken},
	{"DeadlocksDoNotShow", nil, testMailCrosses},
}

// tryCommit commits a batch. Others may be in the way: then it is repeated.
func (b *bundle) tryCommit(writes ...journal.Write) ([]journal.Result, error) {
	for {
		results, err := b.store.Commit(b.ctx, writes)
		if !errors.Is(err, journal.ErrConflict) {
			return results, err
		}
	}
}

// testOneMessageWins has many put a message of one origin.
func testOneMessageWins(t *testing.T, b *bundle) {
	id := b.start(t, newExecution("k"))
	var won atomic.Int32
	var group errgroup.Group
	for range 16 {
		group.Go(func() error {
			for n := range 8 {
				results, err := b.tryCommit(b.receive(id, n))
				if err != nil {
					return err
				}
				if !results[0].Existed {
					won.Add(1)
				}
				if results[0].Err != nil {
					return results[0].Err
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	require.EqualValues(t, 8, won.Load())
	require.Len(t, b.inbox(t, id), 8)
}

// taker takes all messages of an entity, one batch after the other, and counts them.
type taker struct {
	id    journal.ID
	taken map[journal.Origin]int
}

// step takes the messages, leaves receipts, and counts in the state of the entity.
func (k *taker) step(b *bundle) error {
	messages, _, err := b.store.Messages(b.ctx, b.receiver(k.id), 0, journal.PageLimit{})
	if err != nil || len(messages) == 0 {
		return err
	}
	w := b.entity(k.id)
	w.Entity = &journal.Entity{ID: k.id, Namespace: "default", Type: "bank/Account", Key: "k", Version: 1}
	for _, m := range messages {
		w.Take = append(w.Take, m.Position)
		w.Receipts = append(w.Receipts, journal.Receipt{Origin: m.Origin, At: 1})
		k.taken[m.Origin]++
	}
	w.Entity.State = fmt.Append(nil, len(k.taken))
	results, err := b.tryCommit(w)
	if err != nil {
		return err
	}
	return results[0].Err
}

// run takes until stopped, and then the remainder.
func (k *taker) run(b *bundle, stopped <-chan struct{}) error {
	for {
		select {
		case <-stopped:
			return k.step(b)
		default:
		}
		if err := k.step(b); err != nil {
			return err
		}
	}
}

// testMailHammer has senders of all sorts put messages while the receivers take them.
func testMailHammer(t *testing.T, b *bundle) {
	const senders, messages = 6, 30
	var takers []*taker
	for i := range 3 {
		takers = append(takers, &taker{
			journal.EntityID("default", "bank/Account", fmt.Sprint(i)), map[journal.Origin]int{},
		})
	}
	var sending sync.WaitGroup
	var group errgroup.Group
	stopped := make(chan struct{})
	for _, k := range takers {
		group.Go(func() error { return k.run(b, stopped) })
	}
	for s := range senders {
		sending.Add(1)
		group.Go(func() error {
			defer sending.Done()
			for n := range messages {
				var w journal.Write
				m := newMessage(s*messages + n)
				if s%2 == 0 {
					w = b.entity(takers[n%3].id)
					w.Receive = m
				} else {
					w = b.entity(journal.EntityID("default", "bank/Teller", fmt.Sprint(s)))
					for _, k := range takers {
						w.Send = append(w.Send, journal.Sent{To: k.id, Message: *m})
					}
				}
				results, err := b.tryCommit(w)
				if err != nil {
					return err
				}
				if results[0].Err != nil || results[0].Existed {
					return fmt.Errorf("sender %d, message %d: %+v", s, n, results[0])
				}
			}
			return nil
		})
	}
	sending.Wait()
	close(stopped)
	require.NoError(t, group.Wait())
	for i, k := range takers {
		want := senders / 2 * messages // the messages sent to all
		want += senders / 2 * messages / 3
		require.Len(t, k.taken, want, "receiver %d", i)
		for origin, times := range k.taken {
			require.Equal(t, 1, times, "message %x", origin)
		}
		require.Empty(t, b.inbox(t, k.id))
		e, err := b.store.Entity(b.ctx, k.id)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(want), string(e.State))
	}
}

// testRepeatedWhileTaken sends the same messages again and again while they are taken: none is taken twice, whatever
// the timing.
func testRepeatedWhileTaken(t *testing.T, b *bundle) {
	const senders, messages, rounds = 4, 5, 20
	k := &taker{journal.EntityID("default", "bank/Account", "k"), map[journal.Origin]int{}}
	var group, sending errgroup.Group
	stopped := make(chan struct{})
	group.Go(func() error { return k.run(b, stopped) })
	for s := range senders {
		sending.Go(func() error {
			for round := range rounds {
				w := b.entity(journal.EntityID("default", "bank/Teller", fmt.Sprint(s)))
				for n := range messages {
					w.Send = append(w.Send, journal.Sent{To: k.id, Message: *newMessage(round*messages + n)})
				}
				results, err := b.tryCommit(w)
				if err != nil {
					return err
				}
				if results[0] != (journal.Result{}) {
					return fmt.Errorf("sender %d: %+v", s, results[0])
				}
			}
			return nil
		})
	}
	require.NoError(t, sending.Wait())
	close(stopped)
	require.NoError(t, group.Wait())
	require.Len(t, k.taken, messages*rounds)
	for origin, times := range k.taken {
		require.Equal(t, 1, times, "message %x", origin)
	}
}

// testMailCrosses has batches that touch the same rows in different ways, and in different orders, run beside each
// other.
func testMailCrosses(t *testing.T, b *bundle) {
	const lanes, rounds, executions = 4, 10, 6
	var ids []journal.ID
	for i := range executions {
		ids = append(ids, b.start(t, newExecution(fmt.Sprint(i))))
	}
	var group errgroup.Group
	for lane := range lanes {
		group.Go(func() error {
			for round := range rounds {
				var writes []journal.Write
				for i := range executions {
					id := ids[(i*(lane+1)+round)%executions]
					n := lane*10_000 + round*100 + i
					w := b.write(id)
					switch (i + lane) % 4 {
					case 0:
						w.Receive = newMessage(n)
					case 1:
						w.Receive = (&journal.Deferred{Name: fmt.Sprint(n)}).Message()
					case 2:
						if round%2 == 0 {
							w.Receive = newMessage(n)
							w.Receive.Kind = journal.InterruptMessage
							break
						}
						fallthrough
					case 3:
						w.Update = &journal.Update{State: journal.Running, WakeAt: int64(n)}
					}
					writes = append(writes, w)
				}
				// Not tryCommit: rows are locked in one order.
				results, err := b.store.Commit(b.ctx, writes)
				if err != nil {
					return err
				}
				for _, r := range results {
					if r.Err != nil || r.Existed {
						return fmt.Errorf("lane %d, round %d: %+v", lane, round, r)
					}
				}
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	received := 0
	for _, id := range ids {
		received += len(b.inbox(t, id))
	}
	require.NotZero(t, received)
}
