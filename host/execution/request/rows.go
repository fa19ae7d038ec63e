package request

import (
	"context"
	"errors"

	"github.com/cruster/cruster/journal"
)

// Store is the part of the store that requests read: see [journal.Store].
type Store interface {
	Brief(ctx context.Context, id journal.ID) (*journal.Execution, error)
	BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	FindMessage(ctx context.Context, to journal.Receiver, origin journal.Origin) (*journal.FoundMessage, error)
	FindRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error)
	Inbox(ctx context.Context, to journal.Receiver, after uint64) ([]journal.Envelope, error)
	Message(ctx context.Context, to journal.Receiver, position uint64) (*journal.Message, error)
	Receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error)
	journal.PublishedReader
}

// Rows finds the rows of executions for callers, and the state that belongs to them.
type Rows struct{ Store Store }

// Load reads the brief row of an execution.
func (rs Rows) Load(ctx context.Context, ref Ref) (*journal.Execution, error) {
	row, err := rs.Store.Brief(ctx, ref.ID)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, noExecutionOf(ref)
	}
	if err != nil {
		return nil, journal.Coded("load "+ref.Name, err)
	}
	if !ref.Chain.IsZero() && row.Chain != ref.Chain {
		return nil, ChainGone()
	}
	return row, nil
}

// LoadRun is Load, and finds the chain that the reference names also if another one has taken its
// place.
func (rs Rows) LoadRun(ctx context.Context, ref Ref) (*journal.Execution, error) {
	row, err := rs.Store.Brief(ctx, ref.ID)
	if !ref.Chain.IsZero() && (errors.Is(err, journal.ErrNotFound) || err == nil && row.Chain != ref.Chain) {
		row, err = rs.Store.BriefRun(ctx, ref.ID, ref.Chain)
		if errors.Is(err, journal.ErrNotFound) {
			return nil, ChainGone()
		}
	}
	if errors.Is(err, journal.ErrNotFound) {
		return nil, noExecutionOf(ref)
	}
	if err != nil {
		return nil, journal.Coded("load "+ref.Name, err)
	}
	return row, nil
}

// Reload reads the row of a run again. If another one continues it by now, nothing is left of its journal.
func (rs Rows) Reload(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	now, err := rs.Load(ctx, RefTo(row))
	if err == nil && now.Run != row.Run {
		return nil, RunGone()
	}
	return now, err
}

// Whole is a row with its input and its value, which are read if it is brief. The caller has paid for them.
func (rs Rows) Whole(ctx context.Context, row *journal.Execution) (*journal.Execution, error) {
	if row.LeftOut == (journal.Sizes{}) {
		return row, nil
	}
	whole, err := rs.Store.FindRun(ctx, row.ID, row.Run)
	switch {
	case errors.Is(err, journal.ErrNotFound) || err == nil && whole.Run != row.Run:
		return nil, RunGone()
	case err != nil:
		return nil, journal.Coded("load "+row.Name(), err)
	}
	return whole, nil
}

// Published returns the published values of an execution, which may be none.
func (rs Rows) Published(ctx context.Context, row *journal.Execution) (*journal.Published, error) {
	published, err := rs.Store.Published(ctx, row.ChainKey())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return &journal.Published{}, nil
	case err != nil:
		return nil, journal.Coded("read what "+row.Name()+" has published", err)
	}
	return published, nil
}

// AskedToStop is the request to stop that an execution has in its row or in its inbox; nil if there is none.
func (rs Rows) AskedToStop(ctx context.Context, row *journal.Execution) (*journal.Interrupt, error) {
	if row.Interrupt != nil || row.State.Final() {
		return row.Interrupt, nil
	}
	inbox, err := rs.Store.Inbox(ctx, row.Receiver(), 0)
	if err != nil {
		return nil, journal.Coded("look for what "+row.Name()+" was asked", err)
	}
	for _, e := range inbox {
		if !e.Kind.Stops() {
			continue
		}
		m, err := rs.Store.Message(ctx, row.Receiver(), e.Position)
		if errors.Is(err, journal.ErrNotFound) { // it has been taken meanwhile
			now, err := rs.LoadRun(ctx, RefTo(row))
			if err != nil {
				return nil, err
			}
			return now.Interrupt, nil
		}
		if err != nil {
			return nil, journal.Coded("look for what "+row.Name()+" was asked", err)
		}
		return InterruptIn(m)
	}
	return nil, nil
}

// inboxOf returns the messages of one origin in an inbox: others may be many, and repeated requests
// come in storms.
func (rs Rows) inboxOf(ctx context.Context, to journal.Receiver, origin journal.Origin) ([]journal.Envelope, error) {
	found, err := rs.Store.FindMessage(ctx, to, origin)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return []journal.Envelope{found.Envelope}, nil
}

// receipt reads the receipt of a message; nil if there is none.
func (rs Rows) receipt(ctx context.Context, id journal.ID, origin journal.Origin) (*journal.Receipt, error) {
	receipt, err := rs.Store.Receipt(ctx, id, origin)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil
	}
	return receipt, err
}
