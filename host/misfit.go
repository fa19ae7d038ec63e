package host

import "github.com/cruster/cruster/host/replay"

// Misfit is the error of a module that does not fit the journal of an execution: an *abi.Error
// whose message shows both sides, and the sides themselves.
type Misfit = replay.MisfitError
