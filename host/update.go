package host

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// UpdateRequest asks a workflow for a change.
type UpdateRequest struct {
	// Name of the update.
	Name string
	// Input is one msgpack value; nil if it was left out.
	Input []byte
	// RequestID makes it safe to repeat the request: the same one takes effect once and has
	// the same answer, for as long as receipts are kept. Empty means that it is not repeated.
	RequestID string
}

// Update sends an update to an execution, and returns the answer once that is durable. The
// answer may be an error; an error that is returned says that there is none, as far as the
// host knows.
func (e *Engine) Update(ctx context.Context, namespace, name string, req UpdateRequest) (abi.Outcome, error) {
	if err := e.admission.AdmitMessage(); err != nil {
		return abi.Outcome{}, err
	}
	origin, err := updateOrigin(req.RequestID)
	if err != nil {
		return abi.Outcome{}, err
	}
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return abi.Outcome{}, err
	}
	workflow, err := e.workflowOf(ctx, row)
	if err != nil {
		return abi.Outcome{}, err
	}
	info, err := workflow.Update(req.Name)
	if err != nil {
		return abi.Outcome{}, err
	}
	input, err := info.CheckInput(req.Input)
	if err != nil {
		return abi.Outcome{}, err
	}
	// Another run may take the place of this one while its caller waits, and answer.
	ref := execution.Ref{ID: row.ID, Name: row.Name()}
	return e.executions.Update(ctx, ref, message.Update{Name: req.Name, Input: input, Origin: origin, Validated: info.Validated})
}

// updateOrigin returns the origin of an update with a request id. A signal may have the same id: an
// id has no control characters.
func updateOrigin(requestID string) (journal.Origin, error) {
	origin, err := originOf(requestID)
	if err != nil || requestID == "" {
		return origin, err
	}
	return journal.OriginOfRequest("update\x00" + requestID), nil
}

// Outlines returns the published values of the executions of a page, without their state.
// Executions that have published nothing are left out.
func (e *Engine) Outlines(ctx context.Context, page []journal.Execution) (map[journal.ID]*journal.Published, error) {
	chains := make([]journal.RunKey, len(page))
	for i := range page {
		chains[i] = page[i].ChainKey()
	}
	found, err := e.store.Outlines(ctx, chains)
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
func (e *Engine) Published(ctx context.Context, row *journal.Execution) (*journal.Published, error) {
	return e.executions.Published(ctx, row)
}
