package execution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/activity"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// Continuation has a run continued by its own code; an input of 7 does not fit.
func (*scriptedPrograms) Continuation(
	_ context.Context, row *journal.Execution, input []byte,
) (journal.Continuation, error) {
	if bytes.Equal(input, abi.MustMarshal(7)) {
		return journal.Continuation{}, abi.Errorf(abi.CodeBadInput, "it is a number")
	}
	return journal.Continuation{
		Input: input, Digest: row.Digest, Pinned: journal.Pinned{Format: journal.CurrentFormat},
	}, nil
}

// relayGuest is an instance of a workflow that receives signals for ever: a few of them in each
// run, then it continues with the received ones. It keeps one receive open until it has something
// to look at, as an SDK does, whether it looks at the signals as they come or only at the end of
// the run, has an activity under way and watches for a request to stop. It ends when it receives
// "end".
type relayGuest struct {
	row     *journal.Execution
	got     []string // in all runs
	queue   []string // delivered, and not looked at
	wanted  int      // signals in this run
	kinds   map[uint32]string
	ops     uint32
	clock   int64
	seen    op.Occurrences
	over    bool // a time has come, or the activity is done
	stopped bool
}

func openRelay(_ context.Context, row *journal.Execution) (Opening, error) {
	copied := *row
	return Opening{Bytes: 1, Open: func(context.Context, guest.Memory) (Guest, error) {
		g := &relayGuest{
			row:    &copied,
			wanted: 1 + int(copied.Pinned.Seed[0]%3),
			kinds:  map[uint32]string{},
			clock:  copied.Pinned.Time,
			seen:   op.Occurrences{},
		}
		return g, abi.Unmarshal(copied.Input, &g.got)
	}}, nil
}

func (g *relayGuest) Close()                      {}
func (g *relayGuest) Save() (*guest.Saved, error) { return nil, wasm.ErrNoState }

func (g *relayGuest) Query(context.Context, *abi.Query) (guest.Turn, error) {
	return guest.Turn{Outcome: &abi.Outcome{Value: abi.MustMarshal(len(g.got))}}, nil
}

func (g *relayGuest) issue(turn *guest.Turn, kind string, body any) {
	g.ops++
	o, err := op.New(kind, abi.MustMarshal(body), g.ops, g.clock)
	if err != nil {
		panic(err)
	}
	g.seen.Count(o)
	g.kinds[g.ops] = kind
	turn.Issued = append(turn.Issued, o)
}

func (g *relayGuest) Start(context.Context) (guest.Turn, error) {
	var turn guest.Turn
	g.issue(&turn, abi.OpInterrupted, &abi.Interrupted{})
	g.issue(&turn, abi.OpReceive, &abi.Receive{Name: "s"})
	g.issue(&turn, abi.OpSleep, &abi.Sleep{Duration: int64(3 * time.Second)})
	g.issue(&turn, abi.OpActivity, &abi.Activity{
		Name: "a", Input: abi.Nil, Retry: abi.Retry{Base: int64(time.Second), Retries: 3},
	})
	return g.look(turn), nil
}

func (g *relayGuest) Resume(_ context.Context, r abi.Resume) (guest.Turn, error) {
	deliveries, at := r.Deliveries, r.Time
	var turn guest.Turn
	if at < g.clock {
		return turn, errors.New("the clock runs backwards")
	}
	g.clock = at
	for _, d := range deliveries {
		switch g.kinds[d.Op] {
		case abi.OpReceive:
			g.queue = append(g.queue, outcomeText(d.Value, d.Error))
		case abi.OpInterrupted:
			g.stopped = true
		case abi.OpActivity:
			g.over = g.over || g.wanted == 1 // so that a new run follows a transaction
		case abi.OpSleep:
			g.over = true
		}
	}
	return g.look(turn), nil
}

// look looks at signals, and decides whether the run is over.
func (g *relayGuest) look(turn guest.Turn) guest.Turn {
	if lazy := g.row.Pinned.Seed[1]%2 == 0; lazy && !g.over {
		return turn
	}
	for len(g.queue) > 0 && g.wanted > 0 {
		g.got, g.queue, g.wanted = append(slices.Clone(g.got), g.queue[0]), g.queue[1:], g.wanted-1
		if g.got[len(g.got)-1] == "end" {
			turn.Outcome = &abi.Outcome{Value: abi.MustMarshal(strings.Join(g.got, ","))}
			return turn
		}
		g.issue(&turn, abi.OpReceive, &abi.Receive{Name: "s"})
	}
	if g.wanted > 0 && !g.over {
		return turn
	}
	next := &abi.Continue{Input: abi.MustMarshal(g.got)}
	if len(g.queue) > 0 {
		next.Unread = []string{"s"}
	}
	turn.Outcome = &abi.Outcome{Continue: next}
	return turn
}

// TestChains has executions live random lives that continue as new runs all the while, with signals sent to them, hosts
// that crash and commits whose answers are lost. In the end each signal that was acknowledged has been received once,
// by one of the runs, and all of them in the order in which they were sent; a request to stop is known to the last.
func TestChains(t *testing.T) {
	t.Parallel()
	lives, seed := number(t, "CRUSTER_LIVES", 60), number(t, "CRUSTER_SEED", rand.Uint64())
	continued := uint32(0)
	for i := range lives {
		var fault string
		synctest.Test(t, func(t *testing.T) {
			var n uint32
			n, fault = relay(t, seed+i)
			continued += n
		})
		require.Empty(t, fault, "CRUSTER_SEED=%d CRUSTER_LIVES=1", seed+i)
	}
	require.Positive(t, continued)
	t.Logf("%d runs were continued", continued)
}

// relay lives one life.
func relay(t *testing.T, seed uint64) (continued uint32, fault string) {
	random := rand.New(rand.NewPCG(seed, 1))
	w := &world{seed: seed, begun: map[journal.Caller]int{}}
	w.f = newFixtureOf(t, openRelay, w)
	if random.IntN(3) == 0 {
		w.f.evicting = true
		w.f.restart(0)
	}
	l := newLiving(w)
	row := rowOf("w", "k")
	require.True(t, l.ask(func(ctx context.Context) error {
		_, err := l.f.x.Starter.Start(ctx, row, nil)
		return err
	}))
	l.promise(row)
	run := l.acknowledged[row.Run]
	points := append([]string{faultpoint.ContinueBeforeCommit, faultpoint.ContinueAfterCommit}, panics...)
	for range 10 + random.IntN(40) {
		event := "signal s"
		switch random.IntN(14) {
		case 0:
			event = fmt.Sprintf("advance %dms", random.IntN(4000))
		case 1:
			event = fmt.Sprintf("crash %dms", random.IntN(2)*random.IntN(3000))
		case 2, 3:
			event = "store"
			for range 1 + random.IntN(5) {
				event += " " + []string{"ok", "fail", "lose", "drop"}[random.IntN(4)]
			}
		case 4:
			event = fmt.Sprintf("loads-fail %d", 1+random.IntN(3))
		case 5:
			event = "panic " + points[random.IntN(len(points))]
		case 6:
			event = []string{"interrupt", "resume", "query", "evict", "sweep"}[random.IntN(5)]
		}
		relayEvent(l, run, strings.Fields(event))
	}
	return relayEnd(l, run)
}

func relayEvent(l *living, run *promised, words []string) {
	switch words[0] {
	case "advance", "crash", "store", "loads-fail", "panic":
		l.happen(strings.Join(words, " "))
	case "sweep":
		_, err := l.f.store.Sweep(context.Background(), l.f.commits.fences, journal.Never, 100)
		require.NoError(l.f.t, err)
	default:
		l.request(run, words)
	}
	synctest.Wait()
}

func relayEnd(l *living, run *promised) (continued uint32, fault string) {
	l.f.mu.Lock()
	l.f.panicAt, l.f.noLoads = "", 0
	l.f.mu.Unlock()
	l.f.commits.mu.Lock()
	l.f.commits.next = nil
	l.f.commits.mu.Unlock()
	last := message.Signal{Name: "s", Value: abi.MustMarshal("end"), Origin: journal.NewOrigin()}
	var row *journal.Execution
	for tries := 0; ; tries++ {
		l.request(run, []string{"resume"})
		l.pass(5 * time.Second)
		l.ask(func(ctx context.Context) error { return l.f.x.Messages.Signal(ctx, request.RefTo(run.row), last) })
		l.pass(5 * time.Second)
		var err error
		row, err = l.f.store.Load(context.Background(), run.row.ID)
		require.NoError(l.f.t, err)
		if row.State.Final() {
			break
		}
		if tries == 50 {
			return 0, "it does not end: " + l.f.show(row)
		}
	}
	if row.Chain != run.row.Run || run.interrupted && row.Interrupt == nil || len(l.faults) > 0 {
		return 0, fmt.Sprintf("chain, interrupt or life: %v, %v, %v", row.Chain, row.Interrupt, l.faults)
	}
	got := strings.Split(outcomeText(row.Value, row.Error), ",")
	before := -1
	for _, value := range got[:len(got)-1] {
		at := slices.Index(l.sent, value)
		if at <= before {
			return 0, fmt.Sprintf("%q was never sent, came twice, or out of order: %q", value, got)
		}
		before = at
	}
	for _, value := range run.signals {
		if !slices.Contains(got, value) {
			return 0, fmt.Sprintf("%q was acknowledged and is lost: %q", value, got)
		}
	}
	return row.Continued, ""
}

// noActivities performs none: each waits until it is given up.
type noActivities struct{ begun, ended atomic.Int32 }

func (a *noActivities) Perform(ctx context.Context, task activity.Task) activity.Report {
	a.begun.Add(1)
	defer a.ended.Add(1)
	if task.Begin(ctx) {
		<-ctx.Done()
	}
	return activity.Dropped{}
}

// TestContinue has an execution continue: callers wait for the last of its runs, the host's tasks
// for the others have ended, and nothing is left of their journals.
func TestContinue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		activities := &noActivities{}
		f := newFixtureOf(t, openRelay, activities)
		row := rowOf("w", "k")
		waiting := f.x.Ends.Await(request.RefTo(row))
		defer waiting.Stop()
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		for i := range 20 {
			require.NoError(
				t,
				f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
					Name: "s", Value: abi.MustMarshal(fmt.Sprint(i)),
				}),
			)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		now, err := f.x.Rows.Load(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.NotEqual(t, row.Run, now.Run)
		require.Equal(t, row.CreatedAt, now.CreatedAt)
		require.Greater(t, now.Continued, uint32(5))
		entries, _, err := f.store.Entries(t.Context(), row.RunKey(), 0, journal.PageLimit{Entries: 100})
		require.NoError(t, err)
		require.Less(t, len(entries), 4)
		require.EqualValues(
			t, 1, activities.begun.Load()-activities.ended.Load(),
			"the host gives up what only the old runs waited for",
		)
		answer, err := f.x.Queries.Query(t.Context(), request.RefTo(row), abi.Query{Name: "told"})
		require.NoError(t, err)
		require.Equal(t, "20", outcomeText(answer.Value, answer.Error))

		_, err = f.x.Recoder.Fork(t.Context(), row, rowOf("w", "fork"), 0)
		require.Equal(t, abi.CodeExecutionNotFound, abi.CodeOf(err), "nothing is left of the first run")

		require.NoError(
			t,
			f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
				Name: "s", Value: abi.MustMarshal("end"),
			}),
		)
		time.Sleep(time.Minute)
		ended, err := waiting.Result(t.Context())
		require.NoError(t, err)
		require.Equal(t, journal.Completed, ended.State)
		require.Len(t, strings.Split(outcomeText(ended.Value, nil), ","), 21)
	})
}

// TestContinueMisfit has a workflow continue with an input that it cannot take: it fails.
func TestContinueMisfit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOf(t, func(ctx context.Context, row *journal.Execution) (Opening, error) {
			return Opening{
				Bytes: 1, Open: func(context.Context, guest.Memory) (Guest, error) { return misfit{}, nil },
			}, nil
		}, &noActivities{})
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		ended, err := f.x.Ends.Wait(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Equal(t, journal.Failed, ended.State)
		require.Equal(t, abi.CodeBadInput, ended.Error.Code)
		require.Contains(t, ended.Error.Message, "it is a number")
	})
}

// misfit continues with an input that does not fit.
type misfit struct{ *relayGuest }

func (misfit) Start(context.Context) (guest.Turn, error) {
	return guest.Turn{Outcome: &abi.Outcome{Continue: &abi.Continue{Input: abi.MustMarshal(7)}}}, nil
}
func (misfit) Close() {}

// hoarder is a workflow that looks at no signal in its first run, and at all of them in the next.
type hoarder struct {
	*relayGuest
	sizes map[string]int
}

var hoarded = []string{"a", "b", "c"}

func openHoarder(_ context.Context, row *journal.Execution) (Opening, error) {
	copied := *row
	return Opening{Bytes: 1, Open: func(context.Context, guest.Memory) (Guest, error) {
		return &hoarder{
			&relayGuest{row: &copied, kinds: map[uint32]string{}, clock: copied.Pinned.Time, seen: op.Occurrences{}},
			map[string]int{},
		}, nil
	}}, nil
}

func (g *hoarder) Start(context.Context) (turn guest.Turn, err error) {
	for _, name := range hoarded {
		g.issue(&turn, abi.OpReceive, &abi.Receive{Name: name})
	}
	return turn, nil
}

func (g *hoarder) Resume(_ context.Context, r abi.Resume) (turn guest.Turn, err error) {
	deliveries := r.Deliveries
	for _, d := range deliveries {
		g.sizes[hoarded[d.Op-1]] = len(d.Value)
	}
	switch {
	case len(g.sizes) < len(hoarded):
	case g.row.Continued == 0:
		turn.Outcome = &abi.Outcome{Continue: &abi.Continue{Input: abi.Nil, Unread: hoarded}}
	default:
		turn.Outcome = &abi.Outcome{Value: abi.MustMarshal(fmt.Sprint(g.sizes, g.row.Pinned.Unread))}
	}
	return turn, nil
}

// TestLargeUnreadSignals has a workflow continue with more than one signal that it has not looked
// at, each as large as a signal may be.
func TestLargeUnreadSignals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixtureOf(t, openHoarder, &noActivities{})
		row := rowOf("w", "k")
		_, err := f.x.Starter.Start(t.Context(), row, nil)
		require.NoError(t, err)
		value := abi.MustMarshal(strings.Repeat("x", abi.MaxPayload-5))
		require.Len(t, value, abi.MaxPayload)
		for _, name := range hoarded {
			require.NoError(
				t,
				f.x.Messages.Signal(t.Context(), request.RefTo(row), message.Signal{
					Name: name, Value: value, Origin: journal.NewOrigin(),
				}),
			)
		}
		ended, err := f.x.Ends.Wait(t.Context(), request.RefTo(row))
		require.NoError(t, err)
		require.Equal(t, journal.Completed, ended.State, "%v", ended.Error)
		require.Equal(
			t, fmt.Sprintf("map[a:%d b:%d c:%d] [a b c]", abi.MaxPayload, abi.MaxPayload, abi.MaxPayload),
			outcomeText(ended.Value, nil),
		)
		left, err := f.store.Inbox(t.Context(), row.Receiver(), 0)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
