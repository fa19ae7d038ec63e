package observe

import (
	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/follow"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/memory"
	"github.com/cruster/cruster/host/program"
	"github.com/cruster/cruster/journal"
)

// Deps are the dependencies of an observer.
type Deps struct {
	// Answers has the memory of events on their way to followers.
	Answers    *memory.Shares
	Catalog    *catalog.Catalog
	Clock      clockwork.Clock
	Executions *execution.Executions
	Followers  *follow.List
	Host       *hoststate.State
	Programs   *program.Programs
	Store      journal.Store
}

// Observer reads executions.
type Observer struct{ deps Deps }

// New returns an observer.
func New(deps Deps) *Observer { return &Observer{deps} }
