package execution

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/instance"
	"github.com/cruster/cruster/journal"
)

// beginEagerly begins the first turn of an execution whose start is being committed. It returns
// nil if there is no room for it.
func (st *Starter) beginEagerly(row *journal.Execution) *eagerStart {
	if st.deps.NoHeadStarts || st.deps.Host.Draining() {
		return nil
	}
	ctx, cancel := context.WithCancel(st.deps.Host.Context())
	h := &eagerStart{heads: st.eager, over: make(chan struct{}), cancel: cancel}
	if !st.deps.group.Go(func() {
		defer close(h.over)
		defer cancel()
		if f := guarded(func() { st.takeTurn(ctx, h, row) }); f != nil {
			st.deps.Logger.Warn(
				"a first turn ahead of its start failed; it is taken again", "execution", row.Name(), "fault", f.What,
			)
		}
		st.deps.Memory.Look() // its memory can be reclaimed from now on
	}) {
		cancel()
		return nil
	}
	return h
}

// takeTurn takes the turn of an eager start.
func (st *Starter) takeTurn(ctx context.Context, h *eagerStart, row *journal.Execution) {
	var g *instance.Admitted
	kept := false
	defer func() {
		if g != nil && !kept {
			g.Close()
		}
	}()
	guests, keep := st.deps.instances.Guests, func(made *instance.Admitted) { g = made }
	turn, err := guests.Start(ctx, row, st.deps.Programs.Open, st.admitNow, keep)
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.unwanted:
	case err == nil:
		h.guest, h.turn, kept = g, turn, true
		st.eager.add(h)
	case g != nil && ctx.Err() == nil && !abi.IsOfHost(err):
		h.turn, h.failed = turn, err
	}
}

// admitNow is a permit for an instance if there is memory to spare.
func (st *Starter) admitNow(_ context.Context, bytes int64) (*budget.Permit, error) {
	permit, ok := st.deps.Memory.TryAcquire(bytes)
	if !ok {
		return nil, errNoRoom
	}
	return permit, nil
}

var errNoRoom = errors.New("execution: no memory to spare")
