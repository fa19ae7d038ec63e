package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/journal"
)

// Terminate ends an execution at once, running or paused: its code does not run again, so that nothing is
// cleaned up. What it has started it gives up, and its locks are free. A turn that is under way is broken
// off. It returns once that is durable, also if the execution had been terminated before.
func (x *Executions) Terminate(ctx context.Context, ref Ref, reason string) error {
	reason, err := checkReason(reason)
	if err != nil {
		return err
	}
	err = x.tell(ctx, ref, terminateNews{x, journal.Interrupt{At: x.now(), Reason: reason}})
	if abi.CodeOf(err) != abi.CodeAlreadyOver {
		return err
	}
	row, lerr := x.Load(ctx, ref)
	if lerr == nil && row.State == journal.Interrupted && abi.CodeOf(row.Error) == abi.CodeTerminated {
		return nil // by this very request, if its answer was lost
	}
	return errors.Join(lerr, err)
}

// terminated is the write that ends an execution without asking it. Its guest does not run
// again, so that nothing can keep it from ending; what it has started it gives up.
func terminated(row *journal.Execution, i journal.Interrupt) (journal.Write, journal.Update) {
	failure := abi.Errorf(abi.CodeTerminated, "%s", i.Reason)
	failure.Clamp()
	u := journal.Update{
		State: journal.Interrupted, WakeAt: journal.Never, Error: failure, FinishedAt: max(i.At, row.CreatedAt), Waiting: row.Waiting,
	}
	return journal.Write{
		ID: row.ID, Run: row.Run, Chain: row.Chain, Update: &u, Interrupt: &i,
		GiveUp: []journal.GiveUp{{At: i.At, Reason: abi.ClampReason(row.Name() + " does not wait for it any more: " + i.Reason)}},
	}, u
}

// terminate makes the end of an execution durable that is in memory, and tells all watchers.
func (r *run) terminate(i journal.Interrupt) error {
	if r.row.State.Final() {
		return alreadyOver(r.row)
	}
	i.At = max(i.At, r.now()) // the request may have waited for a turn
	w, u := terminated(r.row, i)
	r.Fault.Pass(faultpoint.TerminateBeforeCommit)
	if _, err := r.Committer.Commit(w); err != nil {
		return err
	}
	r.Fault.Pass(faultpoint.TerminateAfterCommit)
	r.applyUpdate(u)
	if r.row.Interrupt == nil { // the first request stands
		r.row.Interrupt = &i
	}
	r.rowWrites++
	r.log.Info("terminated", "reason", i.Reason)
	r.settleDurable(&w)
	r.finish()
	return nil
}

// endUnloaded does what the requests among notices ask for that end the execution, and returns the others.
// It is not loaded for them: its code may be what never returns. It is loaded afterwards, however late, to
// tell its watchers.
func (r *run) endUnloaded(notices []notice) []notice {
	var others []notice
	ended := false
	for _, m := range notices {
		request, is := content(m).(terminateRequest)
		if !is {
			others = append(others, m)
			continue
		}
		switch err := r.endRow(m, request.interrupt); {
		case errors.Is(err, journal.ErrUndecided) && !r.Host.Over():
			r.reloaded = true // what it gives up may be in the store, and not be done yet
			r.backOff("terminate", err)
			others = append(others, m) // it is loaded, and knows
		default:
			ended = true
			request.reply <- err
		}
	}
	if ended {
		// In front: what comes first may be refused if the load fails, or be taken for more recent than
		// what is in the store.
		others = append([]notice{wake{}}, others...)
	}
	return others
}

// endRow ends the execution as the store has it, unless the request m is for another one.
func (r *run) endRow(m notice, i journal.Interrupt) error {
	ctx := r.Host.Context()
	row, err := r.Store.Load(ctx, r.id)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return noExecution()
	case err != nil:
		return journal.Coded("load the execution", err)
	}
	if err := addressedElsewhere(m, row.Run, row.Chain); err != nil {
		return err
	}
	r.reloaded = r.reloaded || row.State.Final() // perhaps by this very request, whose answer was lost
	i.At = max(i.At, r.now())                    // the request may have waited for a turn
	return r.commitNews(ctx, row, terminateNews{r.Executions, i})
}

// terminateNews is that an execution is over.
type terminateNews struct {
	x         *Executions
	interrupt journal.Interrupt
}

func (n terminateNews) request(reply chan<- error) notice {
	return terminateRequest{n.interrupt, reply}
}

func (n terminateNews) write(_ context.Context, _ *Executions, row *journal.Execution) (*journal.Write, error) {
	if row.State.Final() {
		return nil, alreadyOver(row)
	}
	w, _ := terminated(row, n.interrupt)
	return &w, nil
}

// answer follows the commit. The run is then loaded, and tells its watchers.
func (n terminateNews) answer(_ journal.Result, row *journal.Execution) error {
	w, _ := terminated(row, n.interrupt)
	if row.Section != (journal.StepID{}) {
		n.x.Entities.Unlocked(journal.Caller{ID: row.ID, Run: row.Run, Step: row.Section})
	}
	n.x.metrics.finished.WithLabelValues(string(journal.Interrupted)).Inc()
	n.x.Logger.Info("terminated", "execution", row.Name(), "reason", n.interrupt.Reason)
	n.x.settleDurable(&w)
	return nil
}

func (terminateNews) points() (before, after string) {
	return faultpoint.TerminateBeforeCommit, faultpoint.TerminateAfterCommit
}
