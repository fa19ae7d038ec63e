package instance

import (
	"context"
	"math"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/largevalue"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/residency"
	"github.com/cruster/cruster/journal"
)

// Deps are the dependencies of an [Instance].
type Deps struct {
	Guests *Guests
	// Memory is the budget of instances.
	Memory *budget.Budget
	Open   Opener
	// Resident chooses the instances that stay warm.
	Resident *residency.List
}

// Instance is the instance of a run, while it is warm, and the memory that goes with it.
type Instance struct {
	deps      *Deps
	id        journal.ID
	guest     *Admitted      // nil while it is not warm
	leaving   *Admitted      // of a run that is being forgotten
	ops       *budget.Permit // of the ops in the ledger, while no guest counts them; or nil
	room      room           // of the next guest
	fuel      int64          // used by the turns of the guest, including replayed turns
	evicted   bool           // there is no guest because another one wanted the room
	departure departure

	// SavedSeq is the entry after which its state was last saved.
	SavedSeq uint64
}

// New is the instance of a run that is not warm.
func New(deps *Deps, id journal.ID) *Instance {
	return &Instance{deps: deps, id: id, departure: newDeparture()}
}

// Warm tells whether there is a guest.
func (in *Instance) Warm() bool { return in.guest != nil }

// Guest is the guest; nil while the instance is not warm.
func (in *Instance) Guest() *Admitted { return in.guest }

// Fuel is the fuel used by the turns of the guest, including replayed turns.
func (in *Instance) Fuel() int64 { return in.fuel }

// Room is the expected need of memory of the next guest; 0 if it is not known.
func (in *Instance) Room() int64 { return in.room.known }

// departure tells tasks that a run wants to leave memory: see [Instance.WantToLeave].
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
func (in *Instance) keep(g *Admitted) {
	in.guest, in.evicted = g, false
	in.departure.cancel()
	in.deps.Resident.Use(in.id)
}

// Drop closes the guest, if there is one. The journal knows all it knew.
func (in *Instance) Drop() {
	if g := in.Take(); g != nil {
		g.Close()
	}
}

// Adopt takes over a guest that had its first turn elsewhere, or the failure of that turn if there is no guest.
func (in *Instance) Adopt(g *Admitted, turn guest.Turn) {
	if g != nil {
		in.keep(g)
	}
	in.fuel = turn.FuelSoFar
}

// Evict takes the guest away because another one wants its memory; nil if there is none.
func (in *Instance) Evict() *Admitted {
	g := in.Take()
	in.evicted = in.evicted || g != nil
	return g
}

// Evicted tells whether there is no guest because another one wanted the room.
func (in *Instance) Evicted() bool { return in.evicted }

// Abandon forgets the guest, which could not be closed because the host failed.
func (in *Instance) Abandon() { in.guest = nil }

// Leave takes the guest away from a run that is being forgotten. It does not wait: Close closes the guest.
func (in *Instance) Leave() { in.leaving = in.Take() }

// Left is closed when the run wants to leave memory.
func (in *Instance) Left() <-chan struct{} { return in.departure.left }

// WantToLeave has tasks that wait for entities leave that to the inbox.
func (in *Instance) WantToLeave() {
	if !in.departure.wanted {
		in.departure.want()
	}
}

// WantsToLeave tells whether the run wants to leave memory.
func (in *Instance) WantsToLeave() bool { return in.departure.wanted }

// Take takes the guest away from the run; nil if there is none. Its ops stay in the ledger, and
// their memory stays counted.
func (in *Instance) Take() *Admitted {
	g := in.guest
	if g != nil {
		in.deps.Resident.Remove(in.id)
		in.guest = nil
		in.room.learn(g.memory.Instance.Wanted())
		if in.ops == nil {
			in.ops, g.memory.Ops = g.memory.Ops, nil
		}
	}
	return g
}

// ReleaseOps says that the ledger has no ops any more, or that a guest counts them.
func (in *Instance) ReleaseOps() {
	if in.ops != nil {
		in.ops.Release()
		in.ops = nil
	}
}

// CountsOps tells whether memory is taken for ops of the ledger that no guest counts.
func (in *Instance) CountsOps() bool { return in.ops != nil && in.ops.Bytes() > 0 }

// BeginAnew forgets all about the guests of another run.
func (in *Instance) BeginAnew() { in.SavedSeq, in.room.known = 0, 0 }

// Close ends the life of the instance: its run is forgotten.
func (in *Instance) Close() {
	if in.leaving != nil {
		in.leaving.Close()
	}
	in.ReleaseOps()
}

// Begin makes a fresh guest for a row and gives it its first turn.
func (in *Instance) Begin(ctx context.Context, row *journal.Execution) (guest.Turn, error) {
	turn, err := in.deps.Guests.Start(ctx, row, in.deps.Open, in.admit, in.keep)
	in.fuel = turn.FuelSoFar
	return turn, err
}

// Deliver runs the guest on the entries of a turn.
func (in *Instance) Deliver(ctx context.Context, namespace string, entries []journal.Entry) (guest.Turn, error) {
	turn, err := in.deps.Guests.Compute(ctx, namespace, in.resuming(entries))
	in.fuel = turn.FuelSoFar
	return turn, err
}

// resuming is the call into the guest that hands it the entries of a turn.
func (in *Instance) resuming(entries []journal.Entry) func(context.Context) (guest.Turn, error) {
	return func(ctx context.Context) (guest.Turn, error) {
		return in.guest.Resume(ctx, ResumeOf(entries))
	}
}

// DeliverNow is [Instance.Deliver] for a caller that holds a slot to compute in.
func (in *Instance) DeliverNow(ctx context.Context, namespace string, entries []journal.Entry) (guest.Turn, error) {
	turn, err := in.deps.Guests.Metered(ctx, namespace, in.resuming(entries))
	in.fuel = turn.FuelSoFar
	return turn, err
}

// Restore makes the guest of a row out of a saved state, as soon as there is memory for it.
func (in *Instance) Restore(ctx context.Context, row *journal.Execution, s *guest.Saved) error {
	opening, err := in.deps.Open(ctx, row)
	if err != nil {
		return err
	}
	bytes := max(opening.Bytes, s.Bytes())
	nothing := func(context.Context, Guest) (guest.Turn, error) { return guest.Turn{}, nil }
	_, err = in.deps.Guests.Admit(ctx, row.Namespace, bytes, in.admit, in.keep, opening.Restoring(s), nothing)
	if err == nil {
		in.fuel = s.Fuel()
	}
	return err
}

// admit waits for the permit of an instance of the run, with room to grow.
func (in *Instance) admit(ctx context.Context, bytes int64) (*budget.Permit, error) {
	room := in.room.of(bytes, in.deps.Memory.Total())
	permit, err := in.deps.Resident.Admit(ctx, room)
	if err != nil {
		return nil, err
	}
	permit.SetAside(room - bytes)
	return permit, nil
}

// Expect says that values of so many bytes will be delivered to the next instance, until forget is called. An instance
// that is there already grows as it can.
func (in *Instance) Expect(bytes int64) (forget func()) {
	in.room.expected = largevalue.GuestCopies * bytes
	return func() { in.room.expected = 0 }
}

// DropRoom gives back the unused room of the instance.
func (in *Instance) DropRoom() {
	if in.guest != nil {
		in.guest.memory.Instance.DropAside(math.MaxInt64)
	}
}
