package program

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/journal"
)

// Deps are the dependencies of programs.
type Deps struct {
	Catalog *catalog.Catalog
	Clock   clockwork.Clock
	Keys    *guest.KeyDeriver
	Logger  *slog.Logger
	// MemoryLimit bounds the memory of an instance of a run that begins now, in bytes.
	MemoryLimit uint64
	// TurnFuel bounds the computation of a turn, in units of fuel; 0 means without a limit.
	TurnFuel int64
}

// Programs finds the code of executions.
type Programs struct{ Deps }

// New returns programs over a catalog.
func New(deps Deps) *Programs { return &Programs{deps} }

// Workflow returns the declaration of an execution's workflow in its module.
func (p *Programs) Workflow(ctx context.Context, row *journal.Execution) (*abi.WorkflowInfo, error) {
	m, err := p.Catalog.Module(ctx, row.Digest)
	if err != nil {
		return nil, err
	}
	i := workflowIn(m, row)
	if i < 0 {
		_, workflow, _ := strings.Cut(row.Workflow, "/")
		return nil, abi.Errorf(abi.CodeWorkflowManifestLie, "the module of %s has no workflow %q", row.Name(), workflow)
	}
	return &m.Manifest.Workflows[i], nil
}

// workflowIn is the index of an execution's workflow in the manifest of a module; -1 if it has none.
func workflowIn(m *catalog.Module, row *journal.Execution) int {
	_, workflow, _ := strings.Cut(row.Workflow, "/")
	return slices.IndexFunc(m.Manifest.Workflows, func(w abi.WorkflowInfo) bool { return w.Name == workflow })
}

// CheckSignal refuses a signal that the workflow of an execution, as its module has it, does not
// declare, or a value that does not fit. It returns the value as it is stored.
func (p *Programs) CheckSignal(
	ctx context.Context, row *journal.Execution, name string, value []byte,
) ([]byte, error) {
	workflow, err := p.Workflow(ctx, row)
	if err != nil {
		return nil, err
	}
	signal, err := workflow.Signal(name)
	if err != nil {
		return nil, err
	}
	return signal.CheckValue(value)
}

// Latest names the module that a deployment points at now, where a digest or the beginning of one is asked for.
const Latest = "latest"

// ModuleFor finds a module that has the workflow of an execution: Latest, a digest, or the beginning
// of one.
func (p *Programs) ModuleFor(ctx context.Context, row *journal.Execution, to string) (digest string, err error) {
	switch to {
	case "":
		return "", abi.Errorf(abi.CodeBadRequest, "the module is not given").
			WithHint("Name a digest, or %q for the module that is deployed now.", Latest)
	case Latest:
		deployment, _, _ := strings.Cut(row.Workflow, "/")
		d, err := p.Catalog.Deployment(ctx, row.Namespace, deployment)
		if err != nil {
			return "", err
		}
		digest = d.Digest
	default:
		if digest, err = p.Catalog.Digest(ctx, to); err != nil {
			return "", err
		}
	}
	m, err := p.Catalog.Module(ctx, digest)
	if abi.CodeOf(err) == abi.CodeModuleNotFound && to != Latest {
		err = catalog.NoModule(to) // the caller named it
	}
	if err != nil {
		return "", err
	}
	return digest, CheckWorkflow(m, row)
}

// CheckWorkflow refuses a module that does not have the workflow of an execution.
func CheckWorkflow(m *catalog.Module, row *journal.Execution) error {
	if workflowIn(m, row) < 0 {
		_, workflow, _ := strings.Cut(row.Workflow, "/")
		return abi.Errorf(abi.CodeDoesNotFit, "%s does not fit: the module has no workflow %q", row.Name(), workflow)
	}
	return nil
}
