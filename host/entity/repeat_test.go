package entity

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// TestRequestIDRunsOnce repeats a call in all the ways there are.
func TestRequestIDRunsOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		req := by(add("a", 5), origin(1))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), req)))
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), req)), "again")
		require.Equal(t, []string{"add"}, f.invocations, "it is remembered, and looked up first")
		f.crash()
		require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), req)), "after a restart")
		require.NoError(t, f.x.Sender.Send(t.Context(), req), "as a message")
		require.EqualValues(t, 6, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))

		o, err := f.x.Caller.Call(t.Context(), by(operation("a", "fail"), origin(2)))
		require.NoError(t, err)
		f.crash()
		again, err := f.x.Caller.Call(t.Context(), by(operation("a", "fail"), origin(2)))
		require.NoError(t, err)
		require.Equal(t, o, again, "an error is an outcome like another")
		require.NotContains(t, f.invocations[len(f.invocations)-1:], "fail fail")
	})
}

// TestRequestIDTwiceAtTheSameTime joins the second to the first, whether that waits or runs.
func TestRequestIDTwiceAtTheSameTime(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.hold()
		running := f.goCall(t.Context(), by(add("a", 1), origin(1)))
		<-f.began
		waiting := f.goCall(t.Context(), by(add("a", 10), origin(2)))
		f.queuedCalls("a", 1)
		again := []<-chan result{
			f.goCall(t.Context(), by(add("a", 1), origin(1))), f.goCall(t.Context(), by(add("a", 10), origin(2))),
		}
		f.settle()
		f.release()
		for i, call := range []<-chan result{running, waiting, again[0], again[1]} {
			r := <-call
			require.Equal(t, []int64{1, 11, 1, 11}[i], f.value(r.outcome, r.err), i)
		}
		n, _ := f.stored("a")
		require.EqualValues(t, 11, n)
		require.Equal(t, []string{"add", "add"}, f.invocations)
	})
}

// TestRequestIDAmongOthersAfterRestart has a batch that contains a repeated call: the commit finds out, and the others
// run again.
func TestRequestIDAmongOthersAfterRestart(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1))))
		f.crash()
		f.hold()
		first := f.goCall(t.Context(), add("a", 1))
		<-f.began
		repeated := f.goCall(t.Context(), by(add("a", 5), origin(1)))
		f.queuedCalls("a", 1)
		other := f.goCall(t.Context(), by(add("a", 1), origin(2)))
		f.queuedCalls("a", 2)
		f.release()
		<-first
		r := <-repeated
		require.EqualValues(t, 5, f.value(r.outcome, r.err))
		r = <-other
		require.EqualValues(t, 7, f.value(r.outcome, r.err))
	})
}

// TestStepOfAWorkflow leaves a receipt that says whose it is.
func TestStepOfAWorkflow(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		req := by(add("a", 5), origin(1))
		req.From = journal.Caller{ID: journal.ID{1}, Run: journal.RunID{2}, Step: journal.StepID{3}}
		f.value(f.x.Caller.Call(t.Context(), req))
		receipt, err := f.store.Receipt(t.Context(), refTo("a").ID(), origin(1))
		require.NoError(t, err)
		require.Equal(t, req.From, receipt.From)
		sent := by(add("a", 1), origin(2))
		sent.From = req.From
		require.NoError(t, f.x.Sender.Send(t.Context(), sent))
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		receipt, err = f.store.Receipt(t.Context(), refTo("a").ID(), origin(2))
		require.NoError(t, err)
		require.Equal(t, req.From, receipt.From)
	})
}

// TestLostAnswer has the answer to a commit lost: whatever became of it, the operation takes
// effect once and is answered once that is known.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	cases := map[string][]string{
		"it took effect":                                      {"lose"},
		"it took effect, twice in doubt":                      {"lose", "lose"},
		"it did not take effect":                              {"drop"},
		"it did not take effect, and the store is away":       {"drop", "fail", "drop", "fail"},
		"it takes effect later than the next try was made":    {"delay", "fail after late"},
		"it takes effect later, and the answer is lost again": {"delay", "drop", "fail after late", "drop"},
	}
	for i, name := range slices.Sorted(maps.Keys(cases)) {
		for j, anonymous := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFixture(t, stores[(i+j)%2])
					f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
					req := by(add("a", 10), origin(1))
					if anonymous {
						req = add("a", 10)
					}
					f.commits.script(cases[name]...)
					require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), req)))
					require.EqualValues(t, 12, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
					n, _ := f.stored("a")
					require.EqualValues(t, 12, n)
				})
			})
		}
	}
}

// TestSendTakesEffectLate has the first try of a message take effect when it is repeated, and the repeat fail. It is
// acknowledged, and performed once.
func TestSendTakesEffectLate(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("delay", "fail after late")
			require.NoError(t, f.x.Sender.Send(t.Context(), by(add("a", 10), origin(1))))
			require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), add("a", 1))))
		})
	})
}

// TestSendGivenUpInDoubt has the caller of a message leave before the store can tell whether it is there. It is, so it
// is performed.
func TestSendGivenUpInDoubt(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.commits.script("delay", "fail after late")
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			require.Equal(t, abi.CodeStore, abi.CodeOf(f.x.Sender.Send(ctx, by(add("a", 10), origin(1)))))
			synctest.Wait()
			n, _ := f.stored("a")
			require.EqualValues(t, 10, n)
		})
	})
}

// TestLostAnswerOfARepeatedCall has a receipt of an earlier call in the way of both tries.
func TestLostAnswerOfARepeatedCall(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1))))
			f.crash()
			f.commits.script("drop")
			require.EqualValues(t, 5, f.value(f.x.Caller.Call(t.Context(), by(add("a", 5), origin(1)))))
			n, _ := f.stored("a")
			require.EqualValues(t, 5, n)
		})
	})
}

// TestRefusedCommit answers callers with the store's error; the state in memory stays as of the
// last commit.
func TestRefusedCommit(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f := newFixture(t, kind)
		f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
		f.commits.script("fail")
		_, err := f.x.Caller.Call(t.Context(), by(add("a", 10), origin(1)))
		require.Equal(t, abi.CodeStore, abi.CodeOf(err))
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
		require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), by(add("a", 10), origin(1)))))
	})
}

// TestCrashAtEveryPoint loses nothing that was acknowledged, and repeats nothing.
func TestCrashAtEveryPoint(t *testing.T) {
	t.Parallel()
	for i, point := range []string{
		"entity.before-commit", "entity.after-commit", "entity.receive.before", "entity.receive.after",
	} {
		for j, way := range []string{"call", "send"} {
			t.Run(point+" "+way, func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, stores[(i+j)%2])
				f.value(f.x.Caller.Call(t.Context(), add("a", 1)))
				crashed := make(chan struct{})
				f.crashAt(point, crashed)
				req := by(add("a", 10), origin(1))
				perform := func() error {
					if way == "send" {
						return f.x.Sender.Send(t.Context(), req)
					}
					_, err := f.x.Caller.Call(t.Context(), req)
					return err
				}
				acknowledged := make(chan error, 1)
				go func() { acknowledged <- perform() }()
				if way == "call" && (point == "entity.receive.before" || point == "entity.receive.after") {
					require.NoError(t, <-acknowledged)
					require.NotContains(t, f.passed, point, "a call that is waited for is not put into the inbox")
				} else {
					<-crashed
				}
				f.crash()
				require.NoError(t, perform())
				require.EqualValues(t, 11, f.value(f.x.Caller.Call(t.Context(), operation("a", "get"))))
			})
		}
	}
}
