package host

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// continuation says how an execution goes on as another run: with the code that its
// deployment has now. If that does not have the workflow any more, or takes another input, it
// goes on with the code that it has, as every execution does that no one moves.
func (e *Engine) continuation(ctx context.Context, row *journal.Execution, input []byte) (next journal.Continuation, err error) {
	next.Pinned = e.pinned()
	current, err := e.catalog.Workflow(ctx, row.Namespace, row.Workflow)
	switch code := abi.CodeOf(err); {
	case err == nil:
		if next.Input, err = current.CheckRequest(input); err == nil || row.Digest == current.Digest {
			next.Digest = current.Digest
			return next, err
		}
		e.log.Warn("an execution continues on the code that it has: what is deployed takes another input", "execution", row.Name(), "error", err)
	case code != abi.CodeUnknownWorkflow && code != abi.CodeDeploymentNotFound:
		return next, err
	}
	own, err := e.workflowOf(ctx, row)
	if err != nil {
		return next, err
	}
	next.Digest = row.Digest
	next.Input, err = own.CheckRequest(input)
	return next, err
}

// pinned returns the settings with which a run that begins now is replayed.
func (e *Engine) pinned() journal.Pinned {
	return journal.Pinned{Format: journal.CurrentFormat, Memory: uint64(e.wasm.MemoryLimit())}
}
