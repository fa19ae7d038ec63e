package schedule

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/hostfault"
	"github.com/cruster/cruster/journal"
)

// isFault tells whether the host is to blame, and reports it if so.
func (r *Schedules) isFault(id journal.ID, err error) (*hostfault.Fault, bool) {
	var f *hostfault.Fault
	if !errors.As(err, &f) {
		return nil, false
	}
	r.Logger.Error("host fault: one schedule is paused, the others go on; please report this line",
		"code", abi.CodeHostFault, "schedule", id, "fault", f.What, "stack", string(f.Stack))
	return f, true
}

// pauseFaulty pauses a schedule after a fault. It goes by the row alone: the computation of its due
// time may have failed. So the row has no wake time until someone changes the schedule; its waiting
// ticks go on then.
func (r *Schedules) pauseFaulty(ctx context.Context, id journal.ID, f *hostfault.Fault) error {
	release, err := r.acquire(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	r.mu.Lock()
	delete(r.woken, id)
	r.mu.Unlock()
	s, err := r.Store.Schedule(ctx, id)
	switch {
	case errors.Is(err, journal.ErrNotFound), errors.Is(err, journal.ErrCorrupt):
		return nil
	case err != nil:
		return err
	}
	r.forget(id)
	s.Version++
	s.WakeAt = journal.Never
	s.State.Paused, s.State.UpdatedAt = true, r.Clock.Now().UnixNano()
	s.State.Note = string(abi.CodeHostFault) + ": the host failed while it worked on this schedule: " + f.What
	r.Timers.Leave(id, journal.Never)
	return r.Store.SaveSchedule(ctx, *s, MaxSchedules)
}
