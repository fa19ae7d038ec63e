package deploy

import (
	"log/slog"

	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// Deps are the dependencies of deployments.
type Deps struct {
	Catalog    *catalog.Catalog
	Clock      clockwork.Clock
	Executions *execution.Executions
	Host       *hoststate.State
	Logger     *slog.Logger
	Programs   *program.Programs
	Schedules  *schedule.Schedules
	Store      journal.Store
}

// Deployments pushes and checks modules.
type Deployments struct{ deps Deps }

// New returns the deployments of a host.
func New(deps Deps) *Deployments { return &Deployments{deps} }
