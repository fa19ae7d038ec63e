package host

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/journal"
)

// Latest names the module that a deployment points at now, where a digest or the
// beginning of one is asked for.
const Latest = "latest"

// Move has a running or paused execution go on with another module: Latest or a
// digest. Its journal is replayed on that module first. If it does not fit, nothing
// is changed and the error (abi.CodeDoesNotFit) shows both sides; if it fits, the
// execution goes on there, also if it was paused.
func (e *Engine) Move(ctx context.Context, namespace, name, to string) (*journal.Execution, error) {
	row, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	digest, err := e.moduleFor(ctx, row, to)
	if err != nil {
		return nil, err
	}
	if err := e.executions.Move(ctx, execution.RefTo(row), digest); err != nil {
		return nil, err
	}
	return e.Poll(ctx, namespace, name)
}

// RequireWorkflow refuses a name of neither a workflow, "deployment/Workflow", nor a deployment,
// "deployment/". A workflow that the deployed module does not have any more is known for as long
// as there are executions of it.
func (e *Engine) RequireWorkflow(ctx context.Context, namespace, workflow string) error {
	namespace = namespaceOf(namespace)
	page, err := e.List(ctx, journal.Filter{Namespace: namespace, Workflow: workflow, Limit: 1})
	if err != nil || len(page.Executions) > 0 {
		return err
	}
	if deployment, all := allOf(workflow); all {
		_, err = e.catalog.Deployment(ctx, namespace, deployment)
	} else {
		_, err = e.catalog.Workflow(ctx, namespace, workflow)
	}
	return err
}

// allOf is the deployment if a filter is for all of it: "orders/".
func allOf(filter string) (deployment string, ok bool) {
	deployment, ok = strings.CutSuffix(filter, "/")
	return deployment, ok && deployment != "" && !strings.Contains(deployment, "/")
}

// moduleFor finds a module that has the workflow of an execution.
func (e *Engine) moduleFor(ctx context.Context, row *journal.Execution, to string) (digest string, err error) {
	deployment, _, _ := strings.Cut(row.Workflow, "/")
	switch to {
	case "":
		return "", abi.Errorf(abi.CodeBadRequest, "the module is not given").WithHint("Name a digest, or %q for the module that is deployed now.", Latest)
	case Latest:
		d, err := e.catalog.Deployment(ctx, row.Namespace, deployment)
		if err != nil {
			return "", err
		}
		digest = d.Digest
	default:
		if digest, err = e.catalog.Digest(ctx, to); err != nil {
			return "", err
		}
	}
	m, err := e.catalog.Module(ctx, digest)
	if abi.CodeOf(err) == abi.CodeModuleNotFound && to != Latest {
		err = catalog.NoModule(to) // the caller named it
	}
	if err != nil {
		return "", err
	}
	return digest, checkWorkflow(m, row)
}

// checkWorkflow refuses a module that does not have the workflow of an execution.
func checkWorkflow(m *catalog.Module, row *journal.Execution) error {
	_, name, _ := strings.Cut(row.Workflow, "/")
	if !slices.ContainsFunc(m.Manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == name }) {
		return abi.Errorf(abi.CodeDoesNotFit, "%s does not fit: the module has no workflow %q", row.Name(), name)
	}
	return nil
}

// ForkRequest says how to fork an execution.
type ForkRequest struct {
	// At is the last entry of the journal that the fork takes over; 0 takes over
	// none.
	At uint64
	// To is the module, as in Move; empty means the module of the original.
	To string
	// Key of the fork; empty makes one of the original's key.
	Key string
}

// Fork starts a new run from a beginning of the journal of another execution, whatever its state.
// Its history up to there is taken over, not repeated.
func (e *Engine) Fork(ctx context.Context, namespace, name string, req ForkRequest) (*journal.Execution, error) {
	if err := e.state.Accepting(); err != nil {
		return nil, err
	}
	if err := e.admission.Admit(); err != nil {
		return nil, err
	}
	source, err := e.Poll(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if req.To == "" {
		req.To = source.Digest
	}
	digest, err := e.moduleFor(ctx, source, req.To)
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
		WakeAt: journal.Now, CreatedAt: e.clock.Now().UnixNano(), Pinned: source.Pinned,
	}
	started, err := e.executions.Fork(ctx, source, fork, req.At)
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
