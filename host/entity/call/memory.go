package call

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/budget"
)

// Cost is about how many bytes of memory a call takes besides its input.
const Cost = 1 << 10

// Admit takes memory for the call, or refuses it.
func (c *Call) Admit(queued *budget.Budget) error {
	c.Memory = queued.Empty()
	if !c.Memory.Grow(Cost + int64(len(c.Input))) {
		return abi.Errorf(
			abi.CodeOverloaded, "the host has no memory left for a call of %s; it was not accepted", c.Ref,
		)
	}
	return nil
}

// Release lets go of the memory of the call.
func (c *Call) Release() {
	if c.Memory != nil {
		c.Memory.Release()
		c.Memory = nil
	}
}
