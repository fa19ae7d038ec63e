package execution

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// scriptedPrograms are the programs of scripts.
type scriptedPrograms struct {
	f        *fixture
	open     Opener // changed under f.mu where executions are under way
	workflow func(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error)
}

var _ Programs = (*scriptedPrograms)(nil)

func (p *scriptedPrograms) Open(ctx context.Context, row *journal.Execution) (Opening, error) {
	p.f.mu.Lock()
	open := p.open
	p.f.mu.Unlock()
	return open(ctx, row)
}

func (p *scriptedPrograms) Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error) {
	return p.workflow(ctx, row)
}

// CheckSignal knows all signals but one.
func (*scriptedPrograms) CheckSignal(
	_ context.Context, _ *journal.Execution, name string, value []byte,
) ([]byte, error) {
	if name == "unknown" {
		return nil, abi.Errorf(abi.CodeUnknownSignal, "there is no such signal")
	}
	return abi.Canonical(value)
}

// Callee waits while the test holds the starts of callees.
func (p *scriptedPrograms) Callee(
	ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.Call, awaited bool,
) (*journal.Execution, error) {
	p.f.mu.Lock()
	held := p.f.starts
	p.f.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	row := rowOf(call.Workflow, cmp.Or(call.Key, "child"))
	row.Parent, row.Pinned.OnCancel = step, call.OnCancel
	if awaited {
		row.Pinned.ReplyTo = &caller.Chain
	}
	return row, nil
}
