package control

import (
	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/host/schedule"
	"github.com/cruster/cruster/journal"
)

// ExecutionDeps are the dependencies of [Executions].
type ExecutionDeps struct {
	Admission  *admission.Controller
	Executions *execution.Executions
	Observer   *observe.Observer
	Programs   *program.Programs
}

// Executions performs requests to executions.
type Executions struct{ deps ExecutionDeps }

// NewExecutions returns the control of executions.
func NewExecutions(deps ExecutionDeps) *Executions { return &Executions{deps} }

// EntityDeps are the dependencies of [Entities].
type EntityDeps struct {
	Admission *admission.Controller
	Catalog   *catalog.Catalog
	Entities  *entity.Entities
	Store     journal.Store
}

// Entities performs requests to entities.
type Entities struct{ deps EntityDeps }

// NewEntities returns the control of entities.
func NewEntities(deps EntityDeps) *Entities { return &Entities{deps} }

// ScheduleDeps are the dependencies of [Schedules].
type ScheduleDeps struct {
	Host      *hoststate.State
	Schedules *schedule.Schedules
}

// Schedules performs requests to schedules.
type Schedules struct{ deps ScheduleDeps }

// NewSchedules returns the control of schedules.
func NewSchedules(deps ScheduleDeps) *Schedules { return &Schedules{deps} }
