package hibernation

import (
	"fmt"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/guest"
	"github.com/cruster/cruster/host/op"
	"github.com/cruster/cruster/journal"
)

// State is a run at rest: its guest is parked, and all that the guest has seen and caused is durable.
type State struct {
	Run    journal.RunID `msgpack:"run"`
	Digest string        `msgpack:"digest"`
	// Seq is the last entry that the guest has seen, Turn the latest turn and At the latest time that was assigned by
	// then.
	Seq  uint64 `msgpack:"seq"`
	Turn uint64 `msgpack:"turn"`
	At   int64  `msgpack:"at"`
	// Pending are the ops that the guest waits for.
	Pending []Pending `msgpack:"pending"`
	// Section is the critical section that the run is in.
	Section op.Section   `msgpack:"section"`
	Guest   *guest.Saved `msgpack:"guest"`
}

// Pending is an op without an outcome, and its attempts according to the journal.
type Pending struct {
	Op        journal.Op `msgpack:"op"`
	Body      []byte     `msgpack:"body"`
	IssuedAt  int64      `msgpack:"issued_at"`
	Attempts  uint32     `msgpack:"attempts"`
	NextAt    int64      `msgpack:"next_at"`
	Lost      uint32     `msgpack:"lost"`
	Released  bool       `msgpack:"released"`
	BegunAt   int64      `msgpack:"begun_at"`
	LastError *abi.Error `msgpack:"last_error"`
}

// PendingOf is the saved part of an op. Its outcome, if any, is not saved.
func PendingOf(o *op.Op) (Pending, error) {
	body, err := abi.Marshal(o.Body)
	return Pending{
		Op: o.Op, Body: body, IssuedAt: o.IssuedAt, Attempts: o.Attempts, NextAt: o.NextAt,
		Lost: o.Lost, Released: o.Released, BegunAt: o.BegunAt, LastError: o.LastError,
	}, err
}

// Restore makes the op again.
func (p Pending) Restore() (*op.Op, error) {
	body, err := abi.DecodeOp(p.Op.Kind, p.Body)
	if err != nil {
		return nil, err
	}
	return &op.Op{
		Op: p.Op, Body: body, IssuedAt: p.IssuedAt, StepID: p.Op.Step(), Attempts: p.Attempts, NextAt: p.NextAt,
		Lost: p.Lost, Released: p.Released, BegunAt: p.BegunAt, LastError: p.LastError,
	}, nil
}

// Ops makes the pending ops again.
func (s *State) Ops() ([]*op.Op, error) {
	ops := make([]*op.Op, len(s.Pending))
	for i, p := range s.Pending {
		o, err := p.Restore()
		if err != nil {
			return nil, fmt.Errorf("hibernation: op %d: %w", p.Op.Number, err)
		}
		ops[i] = o
	}
	return ops, nil
}
