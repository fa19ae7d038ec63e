package execution

import (
	"context"

	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// asker asks runs. They answer when they come to it.
type asker struct {
	deps  *Deps
	rows  request.Rows
	boxes boxes
}

// ask posts a request to an execution and waits for the reply. It is for the chain that is there now, also if its
// answer is lost and it is received again.
func (a asker) ask(ctx context.Context, ref request.Ref, of func(reply chan<- error) notice) error {
	if err := a.deps.Host.Accepting(); err != nil {
		return err
	}
	row, err := a.rows.Load(ctx, ref)
	if err != nil {
		return err
	}
	reply := make(chan error, 1)
	a.boxes.Post(ref.ID, ofChain{row.Chain, of(reply)})
	return a.await(ctx, ref, reply)
}

// await waits for the reply to a request.
func (a asker) await(ctx context.Context, ref request.Ref, reply <-chan error) error {
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return journal.Coded("ask "+ref.Name, ctx.Err())
	case <-a.deps.Host.Context().Done():
		return a.deps.Host.EndReason()
	}
}
