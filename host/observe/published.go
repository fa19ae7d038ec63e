package observe

import (
	"context"
	"errors"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Outlines returns the published values of the executions of a page, without their state.
// Executions that have published nothing are left out.
func (o *Observer) Outlines(
	ctx context.Context, page []journal.Execution,
) (map[journal.ID]*journal.Published, error) {
	chains := make([]journal.RunKey, len(page))
	for i := range page {
		chains[i] = page[i].ChainKey()
	}
	found, err := o.deps.Store.Outlines(ctx, chains)
	if err != nil {
		return nil, journal.Coded("read what executions have published", err)
	}
	outlines := make(map[journal.ID]*journal.Published, len(found))
	for i, chain := range chains {
		if outline := found[chain]; outline != nil {
			outlines[page[i].ID] = outline
		}
	}
	return outlines, nil
}

// Published returns the published values of an execution, which may be none. It need not be in
// memory for that.
func (o *Observer) Published(ctx context.Context, row *journal.Execution) (*journal.Published, error) {
	return o.deps.Executions.Rows.Published(ctx, row)
}

// Deferred returns the settlement of a deferred of a run. The run may be gone by now: then there is
// none.
func (o *Observer) Deferred(
	ctx context.Context, of journal.Receiver, s *journal.Settlement,
) (*journal.Deferred, error) {
	d, err := journal.ReadDeferred(ctx, o.deps.Store, of, s.Position)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, abi.Errorf(abi.CodeExecutionNotFound, "the execution has no settled deferred %q any more", s.Name)
	}
	if err != nil {
		return nil, journal.Coded("describe the deferred "+s.Name, err)
	}
	return d, nil
}
