package schedule

import (
	"context"
	"errors"
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// watch is a wait for the end of one of the runs of a schedule.
type watch struct {
	runs   []string // the names of the executions, in the order of the row
	cancel context.CancelFunc
	broken bool // guarded by the room's mu; one of them is not waited for: it is paused, or waiting failed
}

// watch wakes a schedule when the first of its open runs ends. A paused run is looked at by the scan of the store, now
// and then.
func (r *Schedules) watch(s *journal.Schedule) {
	runs := make([]string, len(s.State.Open))
	for i := range runs {
		runs[i] = s.State.Open[i].Execution
	}
	id, namespace := s.ID(), s.Namespace
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	if before := r.watched[id]; before != nil {
		if !before.broken && slices.Equal(before.runs, runs) {
			return
		}
		before.cancel()
	}
	ctx, cancel := context.WithCancel(r.Context)
	w := &watch{runs: runs, cancel: cancel}
	r.watched[id] = w
	for _, name := range runs {
		r.tasks.Go(func() {
			if r.awaitEnd(ctx, id, namespace, name) {
				r.ended(id, w)
				return
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			w.broken = true
		})
	}
}

// awaitEnd waits for the end of a run, and tells whether it has ended.
func (r *Schedules) awaitEnd(ctx context.Context, id journal.ID, namespace, name string) bool {
	var e *journal.Execution
	err := hostfault.Try(func() (err error) {
		e, err = r.Starter.Wait(ctx, namespace, name)
		return err
	})
	if f := (*hostfault.Fault)(nil); errors.As(err, &f) {
		r.Logger.Error(
			"host fault: the end of a run is not awaited; the scan of the store finds it; please report this line",
			"code", abi.CodeHostFault, "schedule", id, "fault", f.What, "stack", string(f.Stack),
		)
	}
	return err == nil && e.State.Final()
}

// ended has a schedule looked at, one of whose runs has ended.
func (r *Schedules) ended(id journal.ID, w *watch) {
	r.mu.Lock()
	if r.watched[id] == w {
		delete(r.watched, id)
	}
	r.mu.Unlock()
	w.cancel()
	r.EnsureInMemory(id)
}
