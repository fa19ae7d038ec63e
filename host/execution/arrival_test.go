package execution

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
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
		_, err := f.x.Start(t.Context(), row, nil)
		require.NoError(t, err)
		synctest.Wait()
		after := journal.Never
		f.x.Committer = &beside{
			Committer: f.x.Committer,
			meant:     func(w *journal.Write) bool { return w.Update != nil && w.Update.State == journal.Running },
			do: func() {
				require.NoError(t, f.x.Signal(t.Context(), RefTo(row), message.Signal{Name: "s", Value: abi.MustMarshal("in between")}))
			},
			then: func() {
				now, err := f.store.Load(t.Context(), row.ID)
				require.NoError(t, err)
				after = now.WakeAt
			},
		}
		require.NoError(t, f.x.Settle(t.Context(), RefTo(row), journal.Deferred{Name: "d", Value: abi.Nil}))
		synctest.Wait()
		require.Equal(t, journal.Now, after)
		require.Contains(t, f.takeNotes(), "in between")
	})
}

// TestQuestionBesideTheEnd has a step ask for the result of an execution that is about to end: in its last turn, when the
// run does not look at what comes, and while its end is committed. It is sent the result, or is told that the execution is over.
func TestQuestionBesideTheEnd(t *testing.T) {
	t.Parallel()
	caller := rowOf("w", "caller")
	ask := func(f *fixture, row *journal.Execution) error {
		return f.x.send(f.t.Context(), row, f.x.letterOf(awaitMessage(caller, journal.StepID{7}, 1)))
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
			_, err := f.x.Start(t.Context(), row, nil)
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, asked)
			inbox, err := f.store.Inbox(t.Context(), caller.Receiver(), 0)
			require.NoError(t, err)
			require.Len(t, inbox, 1)
			require.Equal(t, journal.OriginOf(caller.Run, journal.StepID{7}), inbox[0].Origin)
		})
	})
	t.Run("while its end is committed", func(t *testing.T) {
		t.Parallel()
		onEachStore(t, func(t *testing.T, f *fixture) {
			f.scripts["w"] = []string{"done ok"}
			row := rowOf("w", "k")
			asked := make(chan error, 1)
			f.x.Committer = &beside{
				Committer: f.x.Committer,
				meant:     func(w *journal.Write) bool { return w.Update != nil && w.Update.State.Final() },
				do:        func() { go func() { asked <- ask(f, row) }() },
			}
			_, err := f.x.Start(t.Context(), row, nil)
			require.NoError(t, err)
			require.Equal(t, abi.CodeAlreadyOver, abi.CodeOf(<-asked))
			synctest.Wait()
			inbox, err := f.store.Inbox(t.Context(), caller.Receiver(), 0)
			require.NoError(t, err)
			require.Empty(t, inbox)
		})
	})
}

// TestSignalsWhileRunsComeAndGo has many senders beside a run whose place is wanted all the time, and whose commits are lost now and
// then: each signal is received once, and none is forgotten.
func TestSignalsWhileRunsComeAndGo(t *testing.T) {
	t.Parallel()
	const senders, each = 8, 10
	onEachStore(t, func(t *testing.T, f *fixture) {
		for range senders * each {
			f.scripts["w"] = append(f.scripts["w"], "receive s")
		}
		f.scripts["w"] = append(f.scripts["w"], "sleep 1s", "receive s", "done ok")
		row := rowOf("w", "k")
		_, err := f.x.Start(t.Context(), row, nil)
		require.NoError(t, err)
		var all sync.WaitGroup
		for s := range senders {
			all.Go(func() {
				for n := range each {
					signal := message.Signal{Name: "s", Value: abi.MustMarshal(fmt.Sprint(s, "/", n))}
					for f.x.Signal(t.Context(), RefTo(row), signal) != nil {
						time.Sleep(time.Millisecond)
					}
					switch {
					case n%3 == 0:
						f.x.evict(row.ID)
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
