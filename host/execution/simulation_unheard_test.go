package execution

import (
	"context"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// endUnheard terminates a run in such a way that its host does not learn of the end, or late: the answer to the commit
// is lost, the host fails right behind it, or the answer comes late ("lose", "panic", "late"). Before the host looks
// again, another run has taken its place, or the run was deleted ("start-over", "delete"). All callers must be told,
// and nothing is held against the other run.
func (l *living) endUnheard(run *promised, mishap, what string) {
	before := l.load(run)
	if before.State.Final() {
		return
	}
	l.clearObstacles()
	ref := request.RefTo(run.row)
	callers := map[string]func(ctx context.Context) error{
		"wait": func(ctx context.Context) error {
			_, err := l.f.x.Ends.Wait(ctx, ref)
			return err
		},
		"update": func(ctx context.Context) error {
			_, err := l.f.x.Updates.Update(ctx, ref, message.Update{Name: "u", Input: abi.Nil})
			return err
		},
		"terminate": func(ctx context.Context) error { return l.f.x.Stops.Terminate(ctx, ref, "unheard") },
	}
	run.toEnd = true
	told := map[string]chan error{}
	for _, name := range []string{"wait", "update", "terminate"} {
		if name == "terminate" {
			l.f.commits.doBehindEnd(before.ID, func(of journal.RunID) { l.succeed(before, of, what) }, mishap)
		}
		reply := make(chan error, 1)
		told[name] = reply
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			reply <- callers[name](ctx)
		}()
		synctest.Wait()
	}
	l.pass(2 * time.Minute) // the scan finds what replaced it
	unheard := !l.f.commits.isToDoBehindEnd()
	l.f.commits.doBehindEnd(journal.ID{}, nil, "")
	for name, reply := range told {
		if err := <-reply; unheard && abi.CodeOf(err) == abi.CodeDeadline {
			l.wrong("%s was ended (%s, %s), and a caller was not told: %s: %v", before.Name(), mishap, what, name, err)
		}
	}
	if !unheard {
		return // it has ended with a transaction of an activity
	}
	l.counts.unheard++
	if what == "delete" {
		l.told[before.Chain] = "deleted"
		l.start()
		return
	}
	if now := l.load(run); now.Chain == before.Chain || now.Error != nil && now.Error.Code == abi.CodeHostFault {
		l.wrong("the run that took the place of %s is blamed for it: %s", before.Name(), l.f.show(now))
	}
	ended, err := l.f.store.FindRun(context.Background(), before.ID, before.Chain)
	require.NoError(l.f.t, err)
	last := l.promised(ended) // the run may have continued before it ended
	last.toEnd = true
	l.verify(last, ended)
}

// succeed has another run take the place of one, or has that deleted.
func (l *living) succeed(row *journal.Execution, of journal.RunID, what string) {
	ctx, fence := context.Background(), l.f.commits.fences[row.ID.Shard()]
	if what == "delete" {
		if err := l.f.store.Delete(ctx, fence, row.ID, of, 0); err != nil {
			l.wrong("delete %s: %v", row.Name(), err)
		}
		return
	}
	next := rowOf("w", row.Key)
	results, err := l.f.store.Commit(ctx, []journal.Write{{
		ID: next.ID, Run: next.Run, Start: next, Replace: of, Fence: fence,
	}})
	if err == nil {
		err = results[0].Err
	}
	if err != nil || results[0].Existed {
		l.wrong("start %s over: %v", row.Name(), err)
	}
}

// clearObstacles has nothing fail any more that was to.
func (l *living) clearObstacles() {
	l.f.mu.Lock()
	l.f.panicAt, l.f.noLoads = "", 0
	l.f.mu.Unlock()
	l.f.nextCommits()
}
