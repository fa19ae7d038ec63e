package execution

import (
	"context"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// instance is the instance of a run, while it is warm, and the memory that goes with it.
type instance struct {
	execs     *Executions
	id        journal.ID
	guest     *admitted      // nil while it is not warm
	leaving   *admitted      // of a run that is being forgotten
	ops       *budget.Permit // of the ops in the ledger, while no guest counts them; or nil
	room      int64          // expected need of the next guest, if known: see room.go
	expected  int64          // its expected need beyond that
	fuel      int64          // used by the turns of the guest, including replayed turns
	savedSeq  uint64         // the entry after which its state was last saved
	evicted   bool           // there is no guest because another one wanted the room
	departure departure
}

// departure tells tasks that a run wants to leave memory: see [run.wantToLeave].
type departure struct {
	left   chan struct{} // closed when it wants to
	wanted bool          // it is closed
}

func newDeparture() departure { return departure{left: make(chan struct{})} }

func (d *departure) want() {
	close(d.left)
	d.wanted = true
}

func (d *departure) cancel() {
	if d.wanted {
		*d = newDeparture()
	}
}

// keep counts a fresh guest in.
func (in *instance) keep(g *admitted) {
	in.guest, in.evicted = g, false
	in.departure.cancel()
	in.execs.resident.Use(in.id)
}

// drop closes the guest, if there is one. The journal knows all it knew.
func (in *instance) drop() {
	if g := in.take(); g != nil {
		g.Close()
	}
}

// take takes the guest away from the run; nil if there is none. Its ops stay in the ledger, and
// their memory stays counted.
func (in *instance) take() *admitted {
	g := in.guest
	if g != nil {
		in.execs.resident.Remove(in.id)
		in.guest = nil
		in.learnRoom(g.memory.Instance.Wanted())
		if in.ops == nil {
			in.ops, g.memory.Ops = g.memory.Ops, nil
		}
	}
	return g
}

// releaseOps says that the ledger has no ops any more, or that a guest counts them.
func (in *instance) releaseOps() {
	if in.ops != nil {
		in.ops.Release()
		in.ops = nil
	}
}

// beginAnew forgets all about the guests of another run.
func (in *instance) beginAnew() { in.savedSeq, in.room = 0, 0 }

// close ends the life of the instance: its run is forgotten.
func (in *instance) close() {
	if in.leaving != nil {
		in.leaving.Close()
	}
	in.releaseOps()
}

// begin makes a fresh guest for a row and gives it its first turn.
func (in *instance) begin(ctx context.Context, row *journal.Execution) (guest.Turn, error) {
	turn, err := in.execs.guests.start(ctx, row, in.execs.Programs.Open, in.admit, in.keep)
	in.fuel = turn.FuelSoFar
	return turn, err
}

// deliver runs the guest on the entries of a turn.
func (in *instance) deliver(ctx context.Context, namespace string, entries []journal.Entry) (guest.Turn, error) {
	turn, err := in.execs.guests.compute(ctx, namespace, in.resuming(entries))
	in.fuel = turn.FuelSoFar
	return turn, err
}

// resuming is the call into the guest that hands it the entries of a turn.
func (in *instance) resuming(entries []journal.Entry) func(context.Context) (guest.Turn, error) {
	return func(ctx context.Context) (guest.Turn, error) {
		return in.guest.Resume(ctx, resumeOf(entries))
	}
}

// restore makes the guest of a row out of a saved state, as soon as there is memory for it.
func (in *instance) restore(ctx context.Context, row *journal.Execution, s *guest.Saved) error {
	opening, err := in.execs.Programs.Open(ctx, row)
	if err != nil {
		return err
	}
	bytes := max(opening.Bytes, s.Bytes())
	nothing := func(context.Context, Guest) (guest.Turn, error) { return guest.Turn{}, nil }
	_, err = in.execs.guests.admit(ctx, row.Namespace, bytes, in.admit, in.keep, opening.Restoring(s), nothing)
	if err == nil {
		in.fuel = s.Fuel()
	}
	return err
}
