package entity

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/effects"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// ledger is what statements of calls change: a number, by transactions.
type ledger struct {
	f *fixture

	mu    sync.Mutex
	total int // guarded by mu
	ran   int // guarded by mu; how often the code ran
}

// ledgerTx is a transaction that adds one.
type ledgerTx struct {
	journal.GuestTx
	l *ledger
}

func (tx *ledgerTx) Commit(ctx context.Context, w journal.Write) error {
	tx.l.mu.Lock()
	defer tx.l.mu.Unlock()
	results, err := tx.l.f.store.Commit(ctx, []journal.Write{w})
	if err == nil {
		err = results[0].Err
	}
	if err == nil {
		tx.l.total++
	}
	return err
}

func (tx *ledgerTx) Rollback(context.Context) error { return nil }

// run is the code of the entity: it adds one, and returns how often it has run.
func (l *ledger) run(call instance.StatelessCall) (*instance.StatelessResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ran++
	switch call.Operation {
	case "fail":
		no := abi.Outcome{Error: &abi.Error{Message: "no"}}
		return &instance.StatelessResult{Outcome: no, Tx: &ledgerTx{l: l}}, nil
	case "crash":
		return nil, abi.Errorf(abi.CodeGuestTrap, "index out of range")
	}
	return &instance.StatelessResult{Outcome: abi.Outcome{Value: abi.MustMarshal(l.ran)}, Tx: &ledgerTx{l: l}}, nil
}

func newLedger(t *testing.T, kind string) (*fixture, *ledger) {
	f := newFixture(t, kind)
	l := &ledger{f: f}
	f.stateless = l.run
	f.types["Gateway"] = &abi.EntityInfo{Name: "Gateway", Concurrency: 2, Mailbox: 3, Operations: []abi.OperationInfo{
		{Name: "crash", Persisted: true},
		{Name: "fail", Persisted: true},
		{Name: "look"},
		{Name: "save", Persisted: true},
	}}
	return f, l
}

func gateway(operation string) call.Request {
	return call.Request{
		Entity: target.Ref{Namespace: "default", Type: "bank/Gateway", Key: "g"}, Operation: operation, Input: abi.Nil,
	}
}

func (l *ledger) counts() (total, ran int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total, l.ran
}

// inbox counts the messages of the gateway.
func (f *fixture) inbox() int {
	f.t.Helper()
	left, err := f.store.Inbox(context.Background(), journal.Receiver{ID: gateway("").Entity.ID()}, 0)
	require.NoError(f.t, err)
	return len(left)
}

func TestStatelessCallIsBestEffort(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, l := newLedger(t, kind)
		require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), gateway("look"))))
		require.EqualValues(t, 2, f.value(f.x.Caller.Call(t.Context(), by(gateway("look"), origin(1)))))
		require.EqualValues(
			t, 3, f.value(f.x.Caller.Call(t.Context(), by(gateway("look"), origin(1)))), "it leaves no receipt",
		)
		total, _ := l.counts()
		require.Equal(t, 3, total)
		_, err := f.x.Rows.State(t.Context(), gateway("").Entity)
		require.Equal(t, abi.CodeEntityNotFound, abi.CodeOf(err))
		require.Equal(
			t, abi.CodeEntityNotFound, abi.CodeOf(f.x.Caller.Destroy(t.Context(), gateway("").Entity, origin(1))),
		)
	})
}

// TestPersistedCallRunsOnce repeats one in all the ways there are: SQL and reply commit together.
func TestPersistedCallRunsOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, l := newLedger(t, kind)
		// An attempt whose commit the store refuses is made again, so their number says nothing. Once there is an
		// outcome there is none.
		first := f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1))))
		_, ran := l.counts()
		require.Equal(t, first, f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1)))))
		f.crash()
		require.Equal(t, first, f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1)))))
		require.NoError(t, f.x.Sender.Send(t.Context(), by(gateway("save"), origin(1))))
		total, again := l.counts()
		require.Equal(t, []int{1, ran}, []int{total, again})
		require.Greater(t, f.value(f.x.Caller.Call(t.Context(), gateway("save"))), first)
		for i, name := range []string{"fail", "crash"} {
			want := []abi.Code{abi.CodeOperationFailed, abi.CodeOperationCrashed}[i]
			for n := range 2 {
				o, err := f.x.Caller.Call(t.Context(), by(gateway(name), origin(byte(10+i))))
				require.NoError(t, err)
				require.Equal(t, want, o.Error.Code)
				if n == 0 {
					_, ran = l.counts()
				}
			}
			_, again = l.counts()
			require.Equal(t, ran, again, "an error is an outcome")
		}
		total, _ = l.counts()
		require.Equal(t, 2, total, "an error rolls its SQL back")
		require.Zero(t, f.inbox())
	})
}

// TestPersistedCallTwiceAtTheSameTime waits for the call in flight.
func TestPersistedCallTwiceAtTheSameTime(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, l := newLedger(t, kind)
		proceed := make(chan struct{})
		f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
			<-proceed
			return l.run(call)
		}
		first := f.goCall(t.Context(), by(gateway("save"), origin(1)))
		<-f.began
		again := f.goCall(t.Context(), by(gateway("save"), origin(1)))
		require.Eventually(t, func() bool { return f.x.actors.Has(gateway("").Entity.ID()) }, testTimeout, testTick)
		close(proceed)
		for _, call := range []<-chan result{first, again} {
			r := <-call
			require.EqualValues(t, 1, f.value(r.outcome, r.err))
		}
		_, ran := l.counts()
		require.Equal(t, 1, ran)
	})
}

// TestPersistedCallIsTriedAgain while the host is in the way; the caller goes on waiting.
func TestPersistedCallIsTriedAgain(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for name, script := range map[string][]string{
			"collisions":                      {"", "conflict", "conflict"},
			"a lost answer":                   {"", "lose"},
			"a lost answer of the message":    {"lose"},
			"a message whose answer was lost": {"drop"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, l := newLedger(t, kind)
					f.commits.script(script...)
					f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1))))
					total, _ := l.counts()
					require.Equal(t, 1, total)
					require.Zero(t, f.inbox())
				})
			})
		}
		t.Run("preempted", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, l := newLedger(t, kind)
				f.commits.script("", "preempt", "conflict", "preempt")
				f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1))))
				total, _ := l.counts()
				require.Equal(t, 1, total)
				require.Equal(t, []int{0, 1, 2, 3}, f.collided, "the store learns how often, and gives it more time")
				require.Equal(
					t, []string{effects.RepeatsPreempted, effects.RepeatsPreempted}, f.logged, "a collision is no news",
				)
			})
		})
		t.Run("no code", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f, l := newLedger(t, kind)
				failures := 3
				f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
					if failures--; failures >= 0 {
						return nil, errors.New("no connection")
					}
					require.Equal(t, 4, call.Attempt)
					return l.run(call)
				}
				require.EqualValues(t, 1, f.value(f.x.Caller.Call(t.Context(), gateway("save"))))
			})
		})
	})
}

// TestPersistedCallSurvivesACrash at each point: it runs, and takes effect once.
func TestPersistedCallSurvivesACrash(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, point := range []string{
			"entity.receive.before", "entity.receive.after", "entity.before-commit", "entity.after-commit",
		} {
			t.Run(point, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f, l := newLedger(t, kind)
					died := make(chan struct{})
					f.crashAt(point, died)
					go func() { _, _ = f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1))) }()
					<-died
					f.crash()
					synctest.Wait()
					total, _ := l.counts()
					if point == "entity.receive.before" {
						require.Zero(t, total, "nothing was durable")
					} else {
						require.Equal(t, 1, total, "no caller has to ask for it again")
					}
					f.value(f.x.Caller.Call(t.Context(), by(gateway("save"), origin(1))))
					total, _ = l.counts()
					require.Equal(t, 1, total)
					require.Zero(t, f.inbox())
				})
			})
		}
	})
}

// TestStatelessMailbox bounds the waiting calls, and the running ones.
func TestStatelessMailbox(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		for _, name := range []string{"look", "save"} {
			synctest.Test(t, func(t *testing.T) {
				f, l := newLedger(t, kind)
				proceed := make(chan struct{})
				f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
					<-proceed
					return l.run(call)
				}
				var calls []<-chan result
				const accept = 5 // two run, three wait
				for range accept {
					calls = append(calls, f.goCall(t.Context(), gateway(name)))
					synctest.Wait()
				}
				require.Len(t, f.began, 2, "as many at the same time as the type says")
				_, err := f.x.Caller.Call(t.Context(), gateway(name))
				require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(err))
				close(proceed)
				for _, call := range calls {
					r := <-call
					require.NoError(t, r.err)
				}
				_, ran := l.counts()
				require.Equal(t, accept, ran)
			})
		}
	})
}

// TestMessagesRunTogether has as many at the same time as the type says, though no call has told the entity of it.
func TestMessagesRunTogether(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			proceed := make(chan struct{})
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				<-proceed
				return l.run(call)
			}
			for range 3 {
				require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
			}
			synctest.Wait()
			require.Len(t, f.began, 2)
			close(proceed)
			synctest.Wait()
			total, _ := l.counts()
			require.Equal(t, 3, total)
		})
	})
}

// TestSendToAStatelessEntity runs until it has an outcome, also of an operation that is best
// effort when it is called.
func TestSendToAStatelessEntity(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, l := newLedger(t, kind)
			require.NoError(t, f.x.Sender.Send(t.Context(), gateway("look")))
			o, err := f.x.Caller.Call(
				t.Context(),
				sends("a", sendsInput{
					Sent: []abi.EntityMessage{{Entity: "Gateway/g", Operation: "save", Input: abi.Nil}},
				}),
			)
			require.NoError(t, err)
			require.Nil(t, o.Error)
			synctest.Wait()
			total, ran := l.counts()
			require.Equal(t, []int{2, 2}, []int{total, ran})
			require.Zero(t, f.inbox())
		})
	})
}

// TestNothingOvertakesAMessage: with a concurrency of one a message that is tried again holds up
// the messages behind it.
func TestNothingOvertakesAMessage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f, _ := newLedger(t, kind)
			f.types["Gateway"].Concurrency = 1
			var mu sync.Mutex
			var ran []string
			f.stateless = func(call instance.StatelessCall) (*instance.StatelessResult, error) {
				mu.Lock()
				defer mu.Unlock()
				ran = append(ran, call.Operation)
				if len(ran) < 3 {
					return nil, errors.New("no connection")
				}
				return &instance.StatelessResult{Outcome: abi.Outcome{Value: abi.Nil}}, nil
			}
			require.NoError(t, f.x.Sender.Send(t.Context(), gateway("save")))
			synctest.Wait()
			behind := f.goCall(t.Context(), gateway("fail"))
			beside := f.goCall(t.Context(), gateway("look"))
			<-behind
			<-beside
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, []string{"save", "save", "save"}, ran[:3])
			require.Len(t, ran, 5)
		})
	})
}

// TestReceiptThatIsGone: a repeated request whose message was performed, and whose receipt was
// deleted meanwhile, is told that.
func TestReceiptThatIsGone(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		f, _ := newLedger(t, kind)
		c, err := f.x.Caller.Checks.Call(t.Context(), by(gateway("save"), origin(3)))
		require.NoError(t, err)
		require.NoError(t, c.Admit(f.queued))
		c.Joins = true
		_, err = f.x.Caller.AwaitJoined(t.Context(), c)
		require.Equal(t, abi.CodeMayHaveRun, abi.CodeOf(err))
	})
}
