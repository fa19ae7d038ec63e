package execution

import (
	"github.com/cruster/cruster/host/execution/request"
	"github.com/cruster/cruster/journal"
)

// Starter makes the rows of new executions durable, and sets them to work.
type Starter struct {
	deps     *runDeps
	eager    *eagerStarts
	hasRoom  func() bool // or else has others leave memory
	messages *request.Sender
	runs     holder
}

// holder holds the names of executions, so that no run of theirs is forgotten.
type holder interface {
	// Hold tells whether there is no run of the name in memory.
	Hold(id journal.ID) (alone bool)
	Unhold(id journal.ID, notices ...notice)
}
