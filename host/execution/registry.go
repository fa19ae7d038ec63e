package execution

import (
	"github.com/cruster/cruster/host/actor"
	"github.com/cruster/cruster/journal"
)

// registry has the runs in memory.
type registry = actor.Registry[journal.ID, notice, *run]
