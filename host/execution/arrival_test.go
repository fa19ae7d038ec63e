package execution

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// onEachStore runs a test of a host on the memory store and on both real ones.
func onEachStore(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for _, kind := range []string{"memory", "sqlite", "postgres"} {
		open := openerOf(t, kind)
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, newFixtureOn(t, open(t), nil, nil)) })
		})
	}
}

// beside is a committer that does something right in front of the first write which is meant, and behind it.
type beside struct {
	Committer
	meant    func(w *journal.Write) bool
	do, then func()
	once     sync.Once
}

func (b *beside) Commit(w journal.Write) (journal.Result, error) {
	first := false
	if b.meant(&w) {
		b.once.Do(func() { first = true })
	}
	if !first {
		return b.Committer.Commit(w)
	}
	b.do()
	res, err := b.Committer.Commit(w)
	if b.then != nil {
		b.then()
	}
	return res, err
}

// TestMessageBesideATurn sends a message while the commit of a turn is under way, which sets the wake time: it is not
// overwritten, so that a host that begins now has the execution take the message.
func TestMessageBesideATurn(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.scripts["w"] = []string{"deferred d", "sleep 1h ; receive s", "done ok"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		after := journal.Never
		f.committer.Committer = &beside{
			Committer: f.committer.Committer,
			meant:     func(w *journal.Write) bool { return w.Update != nil && w.Update.State == journal.Running },
			do: func() {
				require.NoError(
					t,
					f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
						Name: "s", Value: abi.MustMarshal("in between"),
					}),
				)
			},
			then: func() {
				now, err := f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				after = now.WakeAt
			},
		}
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}),
		)
		synctest.Wait()
		require.Equal(t, journal.Now, after)
		require.Contains(t, f.takeNotes(), "in between")
	})
}

// TestQuestionBesideTheEnd has a step ask for the result of an execution that is about to end: in
// its last turn, when the run does not look at arrivals, and while its end is committed. It is sent
// the result, or is told that the execution has ended.
func TestQuestionBesideTheEnd(t *testing.T) {
	t.Parallel()
	caller := rowOf("w", "caller")
	ask := func(f *fixture, row *journal.Execution) error {
		return f.x.Messages.Send(f.t.Context(), row, request.AwaitMessage(caller, journal.StepID{7}, 1))
	}
	t.Run("in its last turn", func(t *testing.T) {
		t.Parallel()
		onEachStore(t, func(t *testing.T, f *fixture) {
			f.scripts["w"] = []string{"done ok"}
			row := rowOf("w", "k")
			var asked error
			var once sync.Once
			f.x.NoHeadStarts = true
			f.whileComputing("scripts/w", func() { once.Do(func() { asked = ask(f, row) }) })
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, asked)
			inbox, err := f.store.Inbox(t.Context(), caller.Receiver(), 0)
			require.NoError(t, err)
			require.Len(t, inbox, 1)
			require.Equal(t, journal.OriginOf(caller.Run, journal.StepID{7}), inbox[0].Origin)
		})
	})
	t.Run("two in doubt, in its last turn", func(t *testing.T) {
		t.Parallel()
		onEachStore(t, func(t *testing.T, f *fixture) {
			f.scripts["w"] = []string{"done ok"}
			row, another := rowOf("w", "k"), rowOf("w", "another")
			var asked []error
			var once sync.Once
			f.x.NoHeadStarts = true
			f.whileComputing("scripts/w", func() {
				once.Do(func() {
					for _, c := range []*journal.Execution{caller, another} {
						f.nextCommits("lose")
						asked = append(
							asked, f.x.Messages.Send(t.Context(), row, request.AwaitMessage(c, journal.StepID{7}, 1)),
						)
					}
				})
			})
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []error{nil, nil}, asked)
			for _, c := range []*journal.Execution{caller, another} {
				inbox, err := f.store.Inbox(t.Context(), c.Receiver(), 0)
				require.NoError(t, err)
				require.Len(t, inbox, 1)
			}
		})
	})
	t.Run("while its end is committed", func(t *testing.T) {
		t.Parallel()
		onEachStore(t, func(t *testing.T, f *fixture) {
			f.scripts["w"] = []string{"done ok"}
			row := rowOf("w", "k")
			asked := make(chan error, 1)
			f.committer.Committer = &beside{
				Committer: f.committer.Committer,
				meant:     func(w *journal.Write) bool { return w.Update != nil && w.Update.State.Final() },
				do:        func() { go func() { asked <- ask(f, row) }() },
			}
			_, err := f.x.Starter.Start(t.Context(), row, nil)
			require.NoError(t, err)
			require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(<-asked))
			synctest.Wait()
			inbox, err := f.store.Inbox(t.Context(), caller.Receiver(), 0)
			require.NoError(t, err)
			require.Empty(t, inbox)
		})
	})
}

// TestSignalsWhileRunsComeAndGo has many senders beside a run whose place is wanted all the time, and whose commits are
// lost now and then: each signal is received once, and none is forgotten.
func TestSignalsWhileRunsComeAndGo(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 10
	onEachStore(t, func(t *testing.T, f *fixture) {
		for range senders * each {
			f.scripts["w"] = append(f.scripts["w"], "receive s")
		}
		f.scripts["w"] = append(f.scripts["w"], "sleep 1s", "receive s", "done ok")
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for n := range each {
					signal := message.Signal{Name: "s", Value: abi.MustMarshal(fmt.Sprint(s, "/", n))}
					for f.x.Messages.Signal(t.Context(), request.RefTo(row), signal) != nil {
						time.Sleep(time.Millisecond)
					}
					switch {
					case n%3 == 0:
						f.x.evictor.evict(row.ID)
					case n%4 == 1:
						f.nextCommits("lose", "", "drop")
					}
				}
			})
		}
		all.Wait()
		time.Sleep(time.Hour)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 1000})
		require.NoError(t, err)
		got := map[string]int{}
		for _, en := range entries {
			if en.Op.Kind == abi.OpReceive {
				var value string
				require.NoError(t, abi.Unmarshal(en.Value, &value))
				got[value]++
			}
		}
		require.Len(t, got, senders*each)
		for value, times := range got {
			require.Equal(t, 1, times, value)
		}
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Running, now.State, "it waits for one that was never sent")
		require.EqualValues(t, senders*each, now.Arrivals)
	})
}

// TestMessageInDoubtForAFullInbox loses a message whose repeat finds no room: its sender is told so, and the execution
// can be ended.
func TestMessageInDoubtForAFullInbox(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		row := f.sleeper(t)
		fill := journal.Write{ID: journal.EntityID("default", "bank/Teller", "fills")}
		for range journal.MaxInbox {
			m := (&message.Signal{Name: "s", Value: abi.Nil}).Message(0, journal.NewOrigin)
			fill.Send = append(fill.Send, journal.Sent{To: row.ID, Chain: row.Chain, Message: m})
		}
		_, err := f.commits.Commit(fill)
		require.NoError(t, err)
		f.nextCommits("drop")
		err = f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{Name: "s", Value: abi.Nil})
		require.Equal(t, abi.CodeInboxFull, abi.CodeOf(err))
		require.NoError(t, f.x.Stops.Terminate(t.Context(), request.RefTo(row), "enough"))
	})
}

// TestSignalInDoubtBesideAContinue loses the answer to the commit of a signal, and has the run continue as another one
// before the repeat: the signal is received once.
func TestSignalInDoubtBesideAContinue(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.scripts["w"] = []string{"deferred go ; receive s", "continue"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.committer.Committer = &beside{
			Committer: f.committer.Committer,
			meant: func(w *journal.Write) bool {
				return w.Receive != nil && w.Receive.Kind == journal.SignalMessage
			},
			do: func() { f.nextCommits("lose") },
			then: func() {
				f.scripts["w"] = []string{"receive s", "receive s", "done ok"}
				require.NoError(
					t,
					f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "go", Value: abi.Nil}),
				)
				synctest.Wait()
			},
		}
		require.NoError(
			t,
			f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
				Name: "s", Value: abi.MustMarshal("once"),
			}),
		)
		synctest.Wait()
		now, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.EqualValues(t, 1, now.Continued)
		require.Equal(t, journal.Running, now.State, "it waits for another one")
		require.Equal(t, 1, strings.Count(f.takeNotes(), "once"))
		inbox, err := f.store.Inbox(t.Context(), row.Receiver(), 0)
		require.NoError(t, err)
		require.Empty(t, inbox)
	})
}

// TestSignalBesideAResume has a paused execution be resumed, and leave memory, while a sender who has seen it paused
// commits.
func TestSignalBesideAResume(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.scripts["w"] = []string{"receive s ; sleep 1h", "done ok"}
		f.missing = true
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		f.missing = false
		f.committer.Committer = &beside{
			Committer: f.committer.Committer,
			meant:     func(w *journal.Write) bool { return w.Receive != nil },
			do: func() {
				go func() { _ = f.x.Operator.Resume(t.Context(), request.RefTo(row)) }()
			},
		}
		require.NoError(
			t,
			f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
				Name: "s", Value: abi.MustMarshal("heard"),
			}),
		)
		synctest.Wait()
		require.Contains(t, f.takeNotes(), "heard")
	})
}

// TestStopThatCannotBeRead has the store fail when a run that is loaded finds a request to stop: it is loaded again,
// and does not begin anew.
func TestStopThatCannotBeRead(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, f *fixture) {
		f.scripts["w"] = []string{"deferred d", "sleep 1h ; interrupted", "stop"}
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		require.NoError(
			t, f.x.Messages.Settle(t.Context(), request.RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}),
		)
		synctest.Wait()
		f.x.evictor.evict(row.ID)
		synctest.Wait()
		require.False(t, f.x.runs.Has(row.ID))
		f.noStops = 1
		require.NoError(t, f.x.Messages.Interrupt(t.Context(), request.RefTo(row), "enough"))
		time.Sleep(time.Minute)
		ended, err := f.store.Load(t.Context(), row.ID)
		require.NoError(t, err)
		require.Equal(t, journal.Interrupted, ended.State)
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 10})
		require.NoError(t, err)
		require.Len(t, entries, 2)
		require.Zero(t, f.noStops)
		require.Equal(t, 2, strings.Count(f.takeNotes(), "guest start"), "once to begin and once to replay")
	})
}
