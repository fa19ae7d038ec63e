package batch

import (
	"context"
	"log/slog"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/fault"
	"github.com/cruster/cruster/host/entity/instance"
	"github.com/cruster/cruster/host/entity/metrics"
	"github.com/cruster/cruster/host/entity/parked"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Store is what operations read.
type Store interface {
	Entity(ctx context.Context, id journal.ID) (*journal.Entity, error)
	InSection(ctx context.Context, step journal.Caller) (bool, error)
	Receipts(ctx context.Context, id journal.ID, origins []journal.Origin) ([]journal.Receipt, error)
}

// Guests runs the code of entities: see [instance.Instances].
type Guests interface {
	// Operations runs operations of an entity with a state, one after the other.
	Operations(ctx context.Context, target target.Target, body *abi.Operations) (*instance.Result, error)
}

// Starts knows workflows of a deployment.
type Starts interface {
	// Check refuses a start that cannot be.
	Check(ctx context.Context, namespace, deployment string, call *abi.Call) error
}

// Worker performs jobs, for any number of entities at the same time.
type Worker struct {
	Commits *commit.Writer
	Fault   faultpoint.Injector
	Faults  *fault.Log
	Guests  Guests
	Host    *hoststate.State
	Logger  *slog.Logger
	Metrics *metrics.Metrics
	Parked  *parked.Log
	Starts  Starts
	Store   Store
	Targets target.Finder
}
