package entity

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// TestLocked has a run hold an entity: its calls run, and those of others wait, reads too.
func TestLocked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, add("a", 1))))
		w.lock("a")
		w.lock("a") // once more: it has it
		other, read := f.goCall(ctx, add("a", 10)), f.goCall(ctx, operation("a", "get"))
		destroyed := make(chan error, 1)
		go func() { destroyed <- f.x.Caller.Destroy(ctx, refTo("a"), journal.Origin{}) }()
		f.queuedCalls("a", 3)
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 1)))))
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(ctx, w.asks(operation("a", "get")))))
		waiters, err := f.x.Waiters(ctx, refTo("a").ID())
		require.NoError(t, err)
		require.Len(t, waiters.First, 3)
		require.Equal(t, 3, waiters.Total)
		w.end()
		got := <-other
		require.Contains(t, []int64{12, 10}, f.value(got.outcome, got.err)) // the destruction may come first
		got = <-read
		require.Contains(t, []int64{2, 12, 10, 0}, f.value(got.outcome, got.err))
		require.NoError(t, <-destroyed)
		_, err = f.store.Lock(ctx, refTo("a").ID())
		require.ErrorIs(t, err, journal.ErrNotFound, "the next commit deletes what is left of a lock")
	})
}

// TestCallsOutsideTheSection are refused: of an entity that is not locked, or by another, or that has no state.
func TestCallsOutsideTheSection(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.types["Mailer"] = &abi.EntityInfo{
			Name: "Mailer", Operations: []abi.OperationInfo{{Name: "mail"}, {Name: "persist", Persisted: true}},
		}
		ctx := context.Background()
		w, v := f.newWorkflow("w"), f.newWorkflow("v")
		w.lock("a")
		v.lock("b")
		mailer := target.Ref{Namespace: "default", Type: "bank/Mailer", Key: "m"}
		mail, persist := call.Request{Entity: mailer, Operation: "mail", Input: abi.Nil}, call.Request{
			Entity: mailer, Operation: "persist", Input: abi.Nil,
		}
		for _, req := range []call.Request{
			add("b", 1), operation("b", "get"), add("c", 1), operation("c", "get"), mail, persist,
		} {
			_, err := f.x.Caller.Call(ctx, w.asks(req))
			require.Equal(t, abi.CodeNotLocked, abi.CodeOf(err), "%s %s", req.Entity, req.Operation)
		}
		require.Equal(t, abi.CodeInSection, abi.CodeOf(f.x.Sender.Send(ctx, w.asks(add("a", 1)))))
		require.NoError(t, f.x.Sender.Send(ctx, w.asks(add("c", 1))))
		require.Equal(t, abi.CodeCannotLock, abi.CodeOf(f.x.Caller.Lock(ctx, w.step, call.Patience{}, mail.Entity)))
		require.Equal(
			t, abi.CodeUnknownEntity,
			abi.CodeOf(f.x.Caller.Lock(ctx, w.step, call.Patience{}, target.Ref{
				Namespace: "default", Type: "bank/Unknown", Key: "m",
			})),
		)
		v.endUnheard()
		require.Equal(
			t, abi.CodeNotLocked, abi.CodeOf(f.x.Caller.Lock(ctx, v.step, call.Patience{}, refTo("c"))),
			"a run that is in no section locks nothing",
		)
	})
}

// TestLockComesInOrder: calls and messages from before run before it, and others behind it.
func TestLockComesInOrder(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		f.hold()
		first := f.goCall(ctx, add("a", 1))
		<-f.began
		second := f.goCall(ctx, add("a", 2))
		f.queuedCalls("a", 1)
		require.NoError(t, f.x.Sender.Send(ctx, add("a", 4)))
		locked := w.goLock(ctx, "a")
		f.queuedCalls("a", 2)
		third := f.goCall(ctx, add("a", 8))
		f.queuedCalls("a", 3)
		f.release()
		require.NoError(t, <-locked)
		n, _ := f.stored("a")
		require.EqualValues(t, 7, n)
		<-first
		<-second
		require.EqualValues(t, 7, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 0)))))
		w.end()
		got := <-third
		require.EqualValues(t, 15, f.value(got.outcome, got.err))
	})
}

// TestSectionThatEndsInSilence is found to be over by an entity that others wait for.
func TestSectionThatEndsInSilence(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			w := f.newWorkflow("w")
			w.lock("a")
			other := f.goCall(context.Background(), add("a", 1))
			time.Sleep(3 * lock.LookEvery)
			synctest.Wait()
			require.Empty(t, other, "the section goes on")
			w.endUnheard()
			time.Sleep(lock.LookEvery + time.Millisecond)
			synctest.Wait()
			require.Len(t, other, 1)
		})
	})
}

// TestLockOutlivesNoRun has a run end in each way, and no entity is told: another gets its lock.
func TestLockOutlivesNoRun(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, end := range []journal.Update{
			{State: journal.Completed, FinishedAt: 1},
			{State: journal.Failed, FinishedAt: 1},
			{State: journal.Interrupted, FinishedAt: 1},
			{State: journal.Running},
			{State: journal.Paused},
		} {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, kind)
				w, v := f.newWorkflow("w"), f.newWorkflow("v")
				w.lock("a")
				locked := v.goLock(context.Background(), "a")
				time.Sleep(2 * lock.LookEvery)
				synctest.Wait()
				require.Empty(t, locked)
				w.update(end)
				if end.State.Final() {
					_, err := f.store.Sweep(t.Context(), f.commits.fences, journal.Never, 100)
					require.NoError(t, err)
				}
				time.Sleep(lock.LookEvery + time.Millisecond)
				synctest.Wait()
				require.Len(t, locked, 1)
				require.NoError(t, <-locked)
				_, err := f.x.Caller.Call(context.Background(), w.asks(add("a", 1)))
				require.Equal(t, abi.CodeNotLocked, abi.CodeOf(err))
			})
		}
	})
}

// TestLockOutlivesNoContinuedRun is the same with a run that goes on as another.
func TestLockOutlivesNoContinuedRun(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			w := f.newWorkflow("w")
			w.lock("a")
			f.apply(journal.Write{
				ID:       w.step.ID,
				Run:      w.step.Run,
				Continue: &journal.Continuation{Run: journal.NewRunID(), Input: abi.Nil, Digest: "d"},
			})
			other := f.goCall(context.Background(), add("a", 1))
			time.Sleep(lock.LookEvery + time.Millisecond)
			synctest.Wait()
			require.Len(t, other, 1)
		})
	})
}

// TestHeldEntityComesBack: the lock outlives the host, and an entity that was forgotten.
func TestHeldEntityComesBack(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		w.lock("a")
		f.crash()
		other := f.goCall(ctx, add("a", 1))
		f.queuedCalls("a", 1)
		require.NoError(t, f.x.Caller.Lock(ctx, w.step, call.Patience{}, refTo("a")), "it has it still")
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 5)))))
		f.settle()
		require.Empty(t, other)
		w.end()
		got := <-other
		require.EqualValues(t, 6, f.value(got.outcome, got.err))
		w.begin(2)
		w.lock("a")
		w.endUnheard()
		f.crash()
		require.EqualValues(
			t, 7, f.value(f.x.Caller.Call(ctx, add("a", 1))), "a section that was over when the host began",
		)
	})
}

// TestMailboxOfAHeldEntity is full of waiting calls, and has room for the holder.
func TestMailboxOfAHeldEntity(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.types["Counter"].Mailbox = 2
		ctx := context.Background()
		w := f.newWorkflow("w")
		w.lock("a")
		first, second := f.goCall(ctx, add("a", 1)), f.goCall(ctx, add("a", 1))
		f.queuedCalls("a", 2)
		_, err := f.x.Caller.Call(ctx, add("a", 1))
		require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 5)))))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(operation("a", "get")))))
		for range call.MaxBatch/2 + 2 { // nor do messages stand in its way
			require.NoError(t, f.x.Sender.Send(ctx, add("a", 1)))
		}
		require.EqualValues(t, 6, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 1)))))
		w.end()
		<-first
		<-second
	})
}

// TestWithdrawnLock: who does not wait any more leaves the queue, and nothing behind.
func TestWithdrawnLock(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		w, v := f.newWorkflow("w"), f.newWorkflow("v")
		w.lock("a")
		ctx, cancel := context.WithCancel(context.Background())
		locked := v.goLock(ctx, "a")
		f.queuedCalls("a", 1)
		cancel()
		require.Error(t, <-locked)
		f.queuedCalls("a", 0)
		w.end()
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(context.Background(), add("a", 1))))
		require.Zero(t, f.x.workers.holders.Len())
	})
}

// TestLockOfARunThatEndsMeanwhile has the section end while its lock is committed.
func TestLockOfARunThatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		w := f.newWorkflow("w")
		began := f.commits.hold()
		locked := w.goLock(context.Background(), "a")
		<-began
		w.update(journal.Update{State: journal.Completed, FinishedAt: 1})
		f.x.Unlocked(w.step)
		f.commits.release()
		require.NoError(t, <-locked)
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(context.Background(), add("a", 1))))
		require.Zero(t, f.x.workers.holders.Len())
	})
}

// TestOperatorUnlocks: the holder's next call is refused, and others go on; an earlier call has its
// outcome.
func TestOperatorUnlocks(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		none, err := f.x.Caller.Unlock(ctx, refTo("a"))
		require.NoError(t, err)
		require.Nil(t, none)
		w.lock("a")
		req := w.asks(add("a", 1))
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, req)))
		other := f.goCall(ctx, add("a", 10))
		f.queuedCalls("a", 1)
		holder, err := f.x.Caller.Unlock(ctx, refTo("a"))
		require.NoError(t, err)
		require.Equal(t, w.step, holder.Holder)
		got := <-other
		require.EqualValues(t, 11, f.value(got.outcome, got.err))
		for range 2 {
			require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, req)), "it was performed before")
			_, err = f.x.Caller.Call(ctx, w.asks(add("a", 1)))
			require.Equal(t, abi.CodeNotLocked, abi.CodeOf(err))
			f.crash()
		}
	})
}

// TestCrashWhileLocking crashes the host before and behind the commit of a lock. The run asks
// again.
func TestCrashWhileLocking(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, point := range []string{faultpoint.LockBeforeCommit, faultpoint.LockAfterCommit} {
			for _, goesOn := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, goes on %v", point, goesOn), func(t *testing.T) {
					t.Parallel()
					f := newFixture(t, kind)
					ctx := context.Background()
					w := f.newWorkflow("w")
					died := make(chan struct{})
					f.crashAt(point, died)
					locked := w.goLock(ctx, "a")
					<-died
					require.Error(t, <-locked)
					f.crash()
					if !goesOn {
						w.update(journal.Update{State: journal.Failed, FinishedAt: 1})
						require.EqualValues(t, 1, f.value(f.x.Caller.Call(ctx, add("a", 1))))
						return
					}
					w.lock("a")
					other := f.goCall(ctx, add("a", 1))
					f.queuedCalls("a", 1)
					require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 5)))))
					w.end()
					<-other
				})
			}
		}
	})
}

// TestLockWhoseAnswerIsLost is locked, once the commit is decided; also after a panic.
func TestLockWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, mishap := range []string{"lose", "drop", "delay", "panic"} {
			t.Run(mishap, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, kind)
				ctx := context.Background()
				w := f.newWorkflow("w")
				if mishap == "panic" {
					f.panicAt = faultpoint.LockAfterCommit
					require.Error(t, f.x.Caller.Lock(ctx, w.step, call.Patience{}, refTo("a")))
				} else {
					f.commits.script(mishap)
				}
				w.lock("a")
				other := f.goCall(ctx, add("a", 1))
				f.queuedCalls("a", 1)
				require.EqualValues(t, 5, f.value(f.x.Caller.Call(ctx, w.asks(add("a", 5)))))
				w.end()
				<-other
			})
		}
	})
}

// TestHeldEntityStopsNoOther: calls that wait for one entity take nothing from others.
func TestHeldEntityStopsNoOther(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		ctx := context.Background()
		w := f.newWorkflow("w")
		w.lock("a")
		var waiting sync.WaitGroup
		for range call.DefaultMailbox {
			waiting.Go(func() { _, _ = f.x.Caller.Call(ctx, add("a", 1)) })
		}
		f.queuedCalls("a", call.DefaultMailbox)
		for n := range int64(100) {
			require.Equal(t, n+1, f.value(f.x.Caller.Call(ctx, add("b", 1))))
		}
		w.end()
		waiting.Wait()
		n, _ := f.stored("a")
		require.EqualValues(t, call.DefaultMailbox, n)
	})
}

// TestDrainWithALockThatWaits: a host that stops does not wait for the end of a section.
func TestDrainWithALockThatWaits(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		w, v := f.newWorkflow("w"), f.newWorkflow("v")
		w.lock("a")
		locked := v.goLock(context.Background(), "a")
		f.queuedCalls("a", 1)
		f.life.Drain()
		require.Equal(t, abi.CodeShuttingDown, abi.CodeOf(<-locked))
	})
}
