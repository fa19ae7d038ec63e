package launch

import (
	"github.com/jonboulle/clockwork"

	"github.com/cruster/cruster/host/admission"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/host/hoststate"
	"github.com/cruster/cruster/host/observe"
	"github.com/cruster/cruster/host/program"
)

// Deps are the dependencies of a launcher.
type Deps struct {
	Admission  *admission.Controller
	Clock      clockwork.Clock
	Executions *execution.Executions
	Host       *hoststate.State
	Observer   *observe.Observer
	Programs   *program.Programs
}

// Launcher begins runs.
type Launcher struct{ deps Deps }

// New returns a launcher.
func New(deps Deps) *Launcher { return &Launcher{deps} }
