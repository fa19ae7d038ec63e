package request

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/journal"
)

// Destroy deletes the state of an entity, behind the calls that came before. It returns once that is durable. A later
// call makes another entity of the same name.
func (x *Caller) Destroy(ctx context.Context, ref target.Ref, origin journal.Origin) error {
	if err := x.Host.Accepting(); err != nil {
		return err
	}
	c := &call.Call{
		Ref:         ref,
		Kind:        call.Destroy,
		Operation:   "destroy",
		Origin:      origin,
		Mailbox:     call.DefaultMailbox,
		Concurrency: call.DefaultConcurrency,
	}
	if t, err := x.Checks.Targets.Find(ctx, ref); err == nil {
		if !t.Type.Stateful() {
			return x.Rows.absent(ctx, ref)
		}
		c = call.To(t, &abi.OperationInfo{Name: "destroy"})
		c.Kind, c.Origin = call.Destroy, origin
	}
	outcome, err := x.Ask(ctx, c)
	if err == nil && outcome.Error != nil {
		return outcome.Error
	}
	return err
}
