package launch

import (
	"context"
	"fmt"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// ForkRequest says how to fork an execution.
type ForkRequest struct {
	// At is the last entry of the journal that the fork takes over; 0 takes over none.
	At uint64
	// To is the module, as in Move; empty means the module of the original.
	To string
	// Key of the fork; empty makes one of the original's key.
	Key string
}

// Fork starts a new run from a beginning of the journal of another execution, whatever its state.
// Its history up to there is taken over, not repeated.
func (l *Launcher) Fork(ctx context.Context, namespace, name string, req ForkRequest) (*journal.Execution, error) {
	if err := l.accept(); err != nil {
		return nil, err
	}
	source, err := l.deps.Observer.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if req.To == "" {
		req.To = source.Digest
	}
	digest, err := l.deps.Programs.ModuleFor(ctx, source, req.To)
	if err != nil {
		return nil, err
	}
	run := journal.NewRunID()
	if req.Key == "" {
		req.Key = forkKey(source.Key, run)
	}
	if err := abi.CheckKey(req.Key); err != nil {
		return nil, err
	}
	fork := &journal.Execution{
		ID: journal.IDOf(source.Namespace, source.Workflow, req.Key), Run: run, Chain: run, Namespace: source.Namespace,
		Workflow: source.Workflow, Key: req.Key, Digest: digest, State: journal.Running,
		WakeAt: journal.Now, CreatedAt: l.deps.Clock.Now().UnixNano(), Pinned: source.Pinned,
	}
	started, err := l.deps.Executions.Recoder.Fork(ctx, source, fork, req.At)
	if err != nil {
		return nil, err
	}
	if !started {
		return nil, abi.Errorf(abi.CodeForkExists, "there is an execution %q already", fork.Name())
	}
	return fork, nil
}

// forkKey returns a key for a fork: the key of the source, as far as it fits, and a part of the
// run's own name.
func forkKey(key string, run journal.RunID) string {
	suffix := fmt.Sprintf("-fork-%s", run.String()[:8])
	if len(key)+len(suffix) > abi.MaxKey {
		key = strings.ToValidUTF8(key[:abi.MaxKey-len(suffix)], "")
	}
	return key + suffix
}
