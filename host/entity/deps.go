package entity

import (
	"log/slog"
	"time"

	"github.com/jonboulle/clockwork"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/entity/batch"
	"github.com/cruster/cruster/host/entity/commit"
	"github.com/cruster/cruster/host/entity/starts"
	"github.com/cruster/cruster/host/entity/stateless"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/faultpoint"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/journal"
)

// Store has the reads of entities: see [journal.Store]. They write through a [commit.Writer].
type Store interface {
	journal.EntityReader
	journal.InboxReader
	journal.LockReader
	journal.ParkedReader
}

// Guests runs the code of entities: see [instance.Instances].
type Guests interface {
	batch.Guests
	stateless.Guests
}

// Starts starts workflows for entities of a deployment.
type Starts interface {
	batch.Starts
	starts.Workflows
}

// Deps are the dependencies of the entities.
type Deps struct {
	Callers   commit.Callers
	Catalog   target.Catalog
	Clock     clockwork.Clock
	Committer commit.Committer
	// EvictAlways keeps no state in memory. It is for tests.
	EvictAlways bool
	Fault       faultpoint.Injector
	Guests      Guests
	Host        *hoststate.State
	// IdleTime is how long an entity without calls stays in memory, if its type does not say.
	IdleTime time.Duration
	Logger   *slog.Logger
	// MaxCalls bounds the calls of entities without a state that run at the same time.
	MaxCalls int
	// Queued is what states and calls that wait take their memory from.
	Queued     *budget.Budget
	Registerer prometheus.Registerer
	// ShardGroups are the shard groups that this host serves, besides the default one.
	ShardGroups []string
	Starts      Starts
	Store       Store
	// Transactions commits SQL of entities without a state.
	Transactions stateless.Transactions
}
