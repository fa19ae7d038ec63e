package guest

import "github.com/cruster/cruster/abi"

// awaitYield waits until the coroutine gives control back. A module is ended by its host, or by Go's runtime.
func (ex *Execution) awaitYield(*Coroutine) { <-ex.yield }

// panicked does not come back: a panic ends a module, and its host sees the stack.
func (ex *Execution) panicked(value any) *abi.Outcome { panic(value) }
