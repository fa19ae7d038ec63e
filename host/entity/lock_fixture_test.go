package entity

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/journal"
)

// workflow is a run that locks entities, as far as entities can see it: a row with a section.
type workflow struct {
	f    *fixture
	step journal.Caller
	ops  byte // that it has issued
}

// newWorkflow starts a run that is in a section.
func (f *fixture) newWorkflow(key string) *workflow {
	f.t.Helper()
	now := time.Now().UnixNano()
	row := &journal.Execution{
		ID:        journal.IDOf("default", "bank/Transfer", key),
		Run:       journal.NewRunID(),
		Namespace: "default",
		Workflow:  "bank/Transfer",
		Key:       key,
		Digest:    "d",
		Input:     abi.Nil,
		State:     journal.Running,
		CreatedAt: now,
		Pinned:    journal.Pinned{Format: journal.CurrentFormat},
	}
	f.apply(journal.Write{ID: row.ID, Run: row.Run, Start: row})
	w := &workflow{f: f, step: journal.Caller{ID: row.ID, Run: row.Run}}
	w.begin(1)
	return w
}

// apply commits a write in place of the owner of executions.
func (f *fixture) apply(w journal.Write) {
	f.t.Helper()
	f.commits.mu.Lock()
	defer f.commits.mu.Unlock()
	w.Fence = f.commits.fences[w.ID.Shard()]
	results, err := f.store.Commit(context.Background(), []journal.Write{w})
	require.NoError(f.t, err)
	require.NoError(f.t, results[0].Err)
}

// begin has the run begin its nth section.
func (w *workflow) begin(n byte) {
	w.f.t.Helper()
	w.step.Step = journal.StepID{n}
	w.update(journal.Update{State: journal.Running, Section: w.step.Step})
}

func (w *workflow) update(u journal.Update) {
	w.f.t.Helper()
	w.f.apply(journal.Write{ID: w.step.ID, Run: w.step.Run, Update: &u})
}

// endUnheard ends the section, and no entity is told.
func (w *workflow) endUnheard() { w.update(journal.Update{State: journal.Running}) }

// end ends the section.
func (w *workflow) end() {
	w.endUnheard()
	w.f.x.Unlocked(w.step)
}

func (w *workflow) lock(keys ...string) {
	w.f.t.Helper()
	for _, key := range keys {
		require.NoError(w.f.t, w.f.x.Caller.Lock(context.Background(), w.step, call.Patience{}, refTo(key)))
	}
}

// goLock locks in the background.
func (w *workflow) goLock(ctx context.Context, key string) <-chan error {
	done := make(chan error, 1)
	x := w.f.x
	go func() { done <- x.Caller.Lock(ctx, w.step, call.Patience{}, refTo(key)) }()
	return done
}

// asks is a call that the run makes in its section.
func (w *workflow) asks(req call.Request) call.Request {
	w.ops++
	req.From = journal.Caller{ID: w.step.ID, Run: w.step.Run, Step: journal.StepID{w.step.Step[0], w.ops}}
	req.Origin, req.Section = journal.OriginOf(req.From.Run, req.From.Step), w.step.Step
	return req
}
