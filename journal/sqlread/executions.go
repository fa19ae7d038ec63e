package sqlread

import (
	"context"
	"errors"
	"math"

	"github.com/cruster/cruster/journal"
)

// Load implements journal.Store.
func (r *Reader) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return One(ctx, r, scanWhole, "execution", &id, r.queries.Load, int16(id.Shard()), (*ID)(&id))
}

// Brief implements journal.Store.
func (r *Reader) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return One(ctx, r, scanBrief, "row of execution", &id, r.queries.Brief, int16(id.Shard()), (*ID)(&id))
}

// FindRun implements journal.Store.
func (r *Reader) FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return One(ctx, r, scanWhole, "run", &run, r.queries.FindRun, int16(id.Shard()), (*ID)(&id), (*ID)(&run))
}

// BriefRun implements journal.Store.
func (r *Reader) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return One(ctx, r, scanBrief, "row of run", &run, r.queries.BriefRun, int16(id.Shard()), (*ID)(&id), (*ID)(&run))
}

// Callee implements journal.Store.
func (r *Reader) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	started, err := One(ctx, r, scanBrief, "callee of execution", &step.ID, r.queries.Started,
		(*ID)(&step.Run), (*ID)(&step.Step))
	if !errors.Is(err, journal.ErrNotFound) {
		return started, err
	}
	link, err := One(ctx, r, scanLink, "link of execution", &step.ID, r.queries.Linked,
		int16(step.ID.Shard()), (*ID)(&step.Run), (*ID)(&step.Step))
	if err != nil {
		return nil, err
	}
	e, err := r.BriefRun(ctx, link.Callee, link.Chain)
	if errors.Is(err, journal.ErrNotFound) {
		err = journal.ErrSwept
	}
	return e, err
}

// Children implements journal.Store.
func (r *Reader) Children(
	ctx context.Context, run journal.RunID, after journal.ID, limit int,
) ([]journal.Execution, error) {
	return All(
		ctx, r, ScanListed, "children of run", &run, r.queries.Children, (*ID)(&run), (*ID)(&after), max(limit, 0),
	)
}

// Earlier implements journal.Store.
func (r *Reader) Earlier(ctx context.Context, id journal.ID, before uint64, limit int) ([]journal.Execution, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return All(ctx, r, ScanListed, "earlier runs of execution", &id, r.queries.Earlier,
		int16(id.Shard()), (*ID)(&id), number(before), max(limit, 0))
}

// number is a count as stores have it.
func number(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Requested implements journal.Store.
func (r *Reader) Requested(ctx context.Context, id journal.ID, request journal.Origin) (*journal.Execution, error) {
	e, err := One(ctx, r, scanBrief, "requested run of execution", &id, r.queries.Requested,
		int16(id.Shard()), (*ID)(&id), (*ID)(&request))
	if errors.Is(err, journal.ErrNotFound) { // by another index
		return One(ctx, r, scanBrief, "earlier requested run of execution", &id, r.queries.RequestedSuperseded,
			int16(id.Shard()), (*ID)(&id), (*ID)(&request))
	}
	return e, err
}

// Hibernated implements journal.Store.
func (r *Reader) Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error) {
	return One(ctx, r, scanHibernated, "saved state of run", &run.Run, r.queries.Hibernated,
		int16(run.Shard), (*ID)(&run.Run))
}
