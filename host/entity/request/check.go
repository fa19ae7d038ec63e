package request

import (
	"context"

	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Checks makes calls of requests.
type Checks struct {
	Host    *hoststate.State
	Targets target.Finder
}

// Call checks a request. Nothing is stored.
func (k Checks) Call(ctx context.Context, req call.Request) (*call.Call, error) {
	if err := k.Host.Accepting(); err != nil {
		return nil, err
	}
	t, err := k.Targets.Find(ctx, req.Entity)
	if err != nil {
		return nil, err
	}
	o, input, err := t.Check(req.Operation, req.Input)
	if err != nil {
		return nil, err
	}
	c := call.To(t, o)
	c.Input, c.Origin, c.From, c.Section, c.Suspect = input, req.Origin, req.From, req.Section, req.Again
	if req.Section == (journal.StepID{}) {
		c.Patience = req.Patience
	}
	if c.Kind == call.Read {
		c.Origin = journal.Origin{} // it may as well be performed twice
	}
	return c, nil
}
