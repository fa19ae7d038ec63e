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
	err = x.tell(ctx, ref, terminateNews{journal.Interrupt{At: x.now(), Reason: reason}})
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
func terminated(row *journal.Execution, i journal.Interrupt, awaited []journal.Envelope) journal.Write {
	if row.Interrupt == nil {
		asked := *row
		row, asked.Interrupt = &asked, &i
	}
	failure := abi.Errorf(abi.CodeTerminated, "%s", i.Reason)
	failure.Clamp()
	u := journal.Update{
		State: journal.Interrupted, WakeAt: journal.Never, Error: failure, FinishedAt: max(i.At, row.CreatedAt), Waiting: row.Waiting,
	}
	return journal.Write{
		ID: row.ID, Run: row.Run, Chain: row.Chain, Update: &u, Interrupt: &i, Send: results(row, &u, awaited),
		GiveUp: []journal.GiveUp{{At: i.At, Reason: abi.ClampReason(row.Name() + " does not wait for it any more: " + i.Reason)}},
	}
}

// endUnloaded does what the requests among notices ask for that end the execution, and returns the others.
// It is not loaded for them: its code may be what never returns. It is loaded afterwards, however late, to
// tell its watchers.
func (r *run) endUnloaded(notices []notice) []notice {
	var others []notice
	ended := false
	for _, m := range notices {
		request, is := content(m).(newsRequest)
		end, ends := request.news.(terminateNews)
		if !is || !ends {
			others = append(others, m)
			continue
		}
		switch err := r.endRow(m, end); {
		case errors.Is(err, journal.ErrUndecided) && !r.Host.Over():
			r.reloaded = true // what it gives up may be in the store, and not be done yet
			r.backOff("terminate", err)
			others, ended = append(others, m), true // it is loaded, and knows
		default:
			ended = true
			request.reply <- err
		}
	}
	if ended {
		// It may be over: its watchers and callers are to be told. In front: what comes first may be refused if the load fails, or be taken for more recent than
		// what is in the store.
		others = append([]notice{wake{}}, others...)
	}
	return others
}

// endRow ends the execution as the store has it, unless the request m is for another one.
func (r *run) endRow(m notice, end terminateNews) error {
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
	w, _, err := r.commitNews(ctx, r.stored(ctx, row), end)
	if err == nil && w != nil {
		r.ended(row, w)
	}
	return err
}

// ended does what follows the end of an execution that is not in memory. The run is then loaded, and tells its watchers.
func (x *Executions) ended(row *journal.Execution, w *journal.Write) {
	if row.Section != (journal.StepID{}) {
		x.Entities.Unlocked(journal.Caller{ID: row.ID, Run: row.Run, Step: row.Section})
	}
	x.metrics.finished.WithLabelValues(string(journal.Interrupted)).Inc()
	x.answering.breakOff(row.Run)
	x.Logger.Info("terminated", "execution", row.Name(), "reason", w.Interrupt.Reason)
	x.settleDurable(w)
	x.announce(w.Send)
}

// terminateNews is that an execution is over.
type terminateNews struct{ interrupt journal.Interrupt }

func (n terminateNews) write(_ context.Context, x *Executions, k knowledge) (*journal.Write, error) {
	if k.row.State.Final() {
		return nil, alreadyOver(k.row)
	}
	awaiters, err := k.awaiters()
	if err != nil {
		return nil, err
	}
	i := n.interrupt
	i.At = max(i.At, x.now()) // the request may have waited for a turn
	w := terminated(k.row, i, awaiters)
	return &w, nil
}

func (terminateNews) answer(journal.Result, *journal.Execution) error { return nil }

func (n terminateNews) learned(r *run, w *journal.Write, _ journal.Result) {
	r.applyUpdate(*w.Update)
	if r.row.Interrupt == nil { // the first request stands
		r.row.Interrupt = w.Interrupt
	}
	r.rowWrites++
	r.answering.breakOff(r.run)
	r.log.Info("terminated", "reason", n.interrupt.Reason)
	r.settleDurable(w)
	r.finish()
}

func (terminateNews) points() (before, after string) {
	return faultpoint.TerminateBeforeCommit, faultpoint.TerminateAfterCommit
}

func (terminateNews) doing() string { return "terminate" }
