package entity

import (
	"context"

	"github.com/cruster/cruster/abi"
)

// StatelessCall is an operation of an entity without a state.
type StatelessCall struct{}

// Call implements [Guests].
func (g *Instances) Call(context.Context, Target, StatelessCall) (*abi.Outcome, error) {
	return nil, nil
}

func (x *Entities) callPersisted(context.Context, *call) (abi.Outcome, error) {
	return abi.Outcome{}, nil
}

func (x *Entities) callStateless(*call) callDone { return callDone{} }
