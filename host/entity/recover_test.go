package entity

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// halfReadable is a store that cannot read the inbox of one receiver.
type halfReadable struct {
	journal.Store
	stuck journal.ID
	lists atomic.Int32 // of receivers
	reads atomic.Int32 // of inboxes
}

func (h *halfReadable) Receivers(ctx context.Context, after journal.ID, limit int) ([]journal.ID, error) {
	h.lists.Add(1)
	return h.Store.Receivers(ctx, after, limit)
}

func (h *halfReadable) Messages(
	ctx context.Context, to journal.Receiver, after uint64, limit journal.PageLimit,
) ([]journal.Message, bool, error) {
	h.reads.Add(1)
	if to.ID == h.stuck {
		return nil, false, errors.New("the page is damaged")
	}
	return h.Store.Messages(ctx, to, after, limit)
}

// TestRecoveryBringsAFewIntoMemory has a host start over many inboxes, with an unreadable one among them.
// Entities that have work hold up the others, up to a bound; the unreadable one does not.
func TestRecoveryBringsAFewIntoMemory(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			keys := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
			for _, key := range keys {
				envelope := journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: journal.NewOrigin()}
				f.fill(refTo(key).ID(), call.Posted(envelope, journal.Caller{},
					call.Parcel{Entity: refTo(key).String(), Namespace: "default", Input: add(key, 5).Input}))
			}
			f.unrecovered = true
			f.crash()
			f.readFrom(&halfReadable{Store: f.store, stuck: refTo("h").ID()})
			f.x.recovery.looking = make(chan struct{}, 2)
			f.hold()
			recovered := make(chan struct{})
			go func() { defer close(recovered); f.x.Recover(t.Context()) }()
			synctest.Wait()
			require.LessOrEqual(t, f.x.Count(), 4, "two at work, and what waits for nothing")
			require.Len(t, f.began, 2)
			f.release()
			<-recovered
			synctest.Wait()
			for _, key := range keys[:7] {
				value, _ := f.stored(key)
				require.EqualValues(t, 5, value, key)
			}
			require.Empty(t, f.x.recovery.looking)
		})
	})
}

// TestStuckInboxHoldsUpNoOther has a host start over inboxes, the first of them unreadable, and
// over inboxes of finished runs. Recovery lists receivers once, and reads only inboxes of entities.
func TestStuckInboxHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			keys := []string{"a", "b", "c", "d"}
			slices.SortFunc(keys, func(a, b string) int {
				x, y := refTo(a).ID(), refTo(b).ID()
				return bytes.Compare(x[:], y[:])
			})
			for _, key := range keys {
				envelope := journal.Envelope{Kind: journal.CallMessage, Name: "add", Origin: journal.NewOrigin()}
				f.fill(refTo(key).ID(), call.Posted(envelope, journal.Caller{},
					call.Parcel{Entity: refTo(key).String(), Namespace: "default", Input: add(key, 5).Input}))
			}
			for _, key := range []string{"1", "2", "3"} {
				signal := journal.Envelope{Kind: journal.SignalMessage, Origin: journal.NewOrigin()}
				f.fillRun(journal.IDOf("default", "orders/Process", key), journal.Message{Envelope: signal})
			}
			f.unrecovered = true
			f.crash()
			store := &halfReadable{Store: f.store, stuck: refTo(keys[0]).ID()}
			f.readFrom(store)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			f.x.Recover(ctx)
			synctest.Wait()
			require.NoError(t, ctx.Err(), "recovery is over")
			require.EqualValues(t, 1, store.lists.Load())
			require.LessOrEqual(t, store.reads.Load(), int32(2*len(keys)), "each entity reads its own")
			for _, key := range keys[1:] {
				require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add(key, 1))))
			}
		})
	})
}
