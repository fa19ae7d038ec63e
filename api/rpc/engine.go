package rpc

import (
	"context"

	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

// Engine is what the services need of an engine. Errors that callers are to
// understand are *abi.Error; contexts end the waiting, never the work.
type Engine interface {
	// Ready tells why the engine makes no progress, if it does not.
	Ready(ctx context.Context) error

	Push(ctx context.Context, req host.PushRequest) (*host.DeploymentInfo, error)
	Deployments(ctx context.Context, namespace string) ([]host.DeploymentInfo, error)
	Deployment(ctx context.Context, namespace, name string) (*host.DeploymentInfo, error)

	StartWorkflow(ctx context.Context, req host.StartRequest) (exec *journal.Execution, existed bool, err error)
	Poll(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	// Wait answers when the execution is final or paused.
	Wait(ctx context.Context, namespace, execution string) (*journal.Execution, error)
	Describe(ctx context.Context, namespace, execution string) (*host.Description, error)
	History(ctx context.Context, namespace, execution string, after uint64, limit int) ([]journal.Entry, error)
	List(ctx context.Context, f journal.Filter) (journal.Page, error)
	Interrupt(ctx context.Context, namespace, execution, reason string) error
	Resume(ctx context.Context, namespace, execution string) error
	// Fail ends a paused execution for good.
	Fail(ctx context.Context, namespace, execution, reason string) error
	Settle(ctx context.Context, namespace, execution string, d journal.Deferred) error
}

var _ Engine = (*host.Engine)(nil)
