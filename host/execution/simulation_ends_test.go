package execution

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// endRun has an event happen that ends a run, or replaces or deletes a finished one.
func (l *living) endRun(words []string) {
	switch words[0] {
	case "terminate-child":
		workflow, key, _ := strings.Cut(words[1], "/")
		ref := request.Ref{ID: rowOf(workflow, key).ID, Name: rowOf(workflow, key).Name()}
		if l.ask(func(ctx context.Context) error { return l.f.x.Stops.Terminate(ctx, ref, "away with it") }) {
			l.counts.childrenEnded++
		}
		return
	case "purge":
		n, err := strconv.Atoi(words[1])
		require.NoError(l.f.t, err)
		_, err = l.f.store.Purge(context.Background(), l.f.commits.fences, n)
		require.NoError(l.f.t, err)
		l.counts.purged++
		return
	}
	run := l.current(words[1])
	if run == nil {
		return
	}
	switch words[0] {
	case "terminate":
		run.toEnd = true
		if l.ask(func(ctx context.Context) error {
			return l.f.x.Stops.Terminate(ctx, request.RefTo(run.row), "away with it")
		}) {
			l.seal(run, &l.counts.terminated)
		}
	case "fail":
		run.toEnd = true
		if l.ask(func(ctx context.Context) error {
			return l.f.x.Operator.Fail(ctx, request.RefTo(run.row), "it is hopeless")
		}) {
			l.seal(run, &l.counts.failed)
		}
	case "delete":
		l.verifyFinal()
		row := l.load(run)
		if !row.State.Final() {
			return
		}
		require.NoError(
			l.f.t,
			l.f.store.Delete(context.Background(), l.f.commits.fences[row.ID.Shard()], row.ID, row.Run, row.Superseded),
		)
		l.counts.deleted++
		if words[1] == "k" {
			l.start()
		}
	case "start-over":
		l.verifyFinal()
		row := l.load(run)
		if !row.State.Final() {
			return
		}
		next := rowOf("w", words[1])
		var existed bool
		if l.ask(func(ctx context.Context) (err error) {
			existed, err = l.f.x.Starter.StartOver(ctx, next, row.Run, nil)
			return err
		}) && !existed {
			l.promise(next)
			l.counts.startedOver++
		}
	}
}

func (l *living) load(run *promised) *journal.Execution {
	row, err := l.f.store.Load(context.Background(), run.row.ID)
	require.NoError(l.f.t, err)
	return row
}

// seal notes that the end of a run was acknowledged: nothing is added to its journal any more.
func (l *living) seal(run *promised, count *int) {
	row, err := l.f.store.FindRun(context.Background(), run.row.ID, run.row.Run)
	if err != nil || row.Superseded > 0 { // it has continued, and another run was ended
		row = l.load(run)
	}
	*count++
	l.sealed[row.Run] = len(l.journal(row))
	if !ended(row) {
		l.wrong("%s was ended, and is %s", row.Name(), row.State)
	}
}

// verifyEnd checks a run that was ended from outside of its code.
func (l *living) verifyEnd(run *promised, row *journal.Execution) {
	if !run.toEnd {
		l.wrong("%s was ended, and no one asked for it: %v", row.Name(), row.Error)
	}
	if n, is := l.sealed[row.Run]; is && n != len(l.journal(row)) {
		l.wrong("%s had %d entries when its end was acknowledged, and has others now: %s", row.Name(), n, l.f.show(row))
	}
}

// floodName is the name of signals that no workflow receives.
const floodName = "flood"

// atOnce is how many messages one write sends or takes. The driver sends a write as a whole: in a bubble it cannot read
// meanwhile.
const atOnce = 200

// flood fills the inbox of a run with signals that it does not receive.
func (l *living) flood(run *promised) {
	row := l.load(run)
	m := message.Signal{Name: floodName, Value: abi.Nil}
	for at := 0; at < journal.MaxInbox; {
		w := journal.Write{ID: journal.IDOf("default", "orders/Sender", "k")}
		for range atOnce {
			w.Send = append(w.Send, journal.Sent{
				To: row.ID, Chain: row.Chain, Message: m.Message(0, journal.NewOrigin),
			})
			at++
		}
		w.Receipts = []journal.Receipt{{Origin: journal.NewOrigin()}}
		w.Fence = l.f.commits.fences[w.ID.Shard()]
		_, err := l.f.store.Commit(context.Background(), []journal.Write{w})
		require.NoError(l.f.t, err)
	}
	l.counts.flooded++
}

// drain makes room again.
func (l *living) drain(run *promised) {
	row := l.load(run)
	inbox, err := l.f.store.Inbox(context.Background(), row.Receiver(), 0)
	require.NoError(l.f.t, err)
	var flood []uint64
	for _, e := range inbox {
		if e.Name == floodName {
			flood = append(flood, e.Position)
		}
	}
	for take := range slices.Chunk(flood, atOnce) {
		w := journal.Write{
			ID: row.ID, Run: row.Run, Chain: row.Chain, Fence: l.f.commits.fences[row.ID.Shard()], Take: take,
		}
		_, err = l.f.store.Commit(context.Background(), []journal.Write{w})
		require.NoError(l.f.t, err)
	}
}

// all are the rows of all executions.
func (l *living) all() []journal.Execution {
	page, err := l.f.store.List(context.Background(), journal.Filter{Namespace: "default", Limit: 1000})
	require.NoError(l.f.t, err)
	rows := make([]journal.Execution, 0, len(page.Executions))
	for i := range page.Executions {
		row, err := l.f.store.Load(context.Background(), page.Executions[i].ID)
		require.NoError(l.f.t, err)
		rows = append(rows, *row)
	}
	return rows
}

// verifyGivenUp checks that the callees of finished runs that these no longer wait for were asked
// to stop or ended: by this host or, at the latest, by the next one.
func (l *living) verifyGivenUp() {
	l.f.restart(0)
	l.pass(2 * time.Minute)
	rows := l.all()
	open := map[journal.RunID]bool{}
	for i := range rows {
		open[rows[i].Run] = !rows[i].State.Final()
	}
	for i := range rows {
		row := &rows[i]
		switch policy := row.Pinned.OnCancel; {
		case row.Interrupt != nil && row.Interrupt.GivenUp && policy == abi.OnCancelCancel:
			l.counts.cancelled++
		case row.Interrupt != nil && row.Interrupt.GivenUp && policy == abi.OnCancelTerminate && ended(row):
			l.counts.terminatedChildren++
		case row.State.Final() || row.Parent.IsZero() || open[row.Parent.Run]:
		case policy == abi.OnCancelCancel && row.Interrupt == nil, policy == abi.OnCancelTerminate:
			l.wrong("%s goes on, and its caller is over: %s", row.Name(), l.f.show(row))
		}
	}
}
