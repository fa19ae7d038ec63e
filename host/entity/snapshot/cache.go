package snapshot

import "github.com/cruster/cruster/host/budget"

// rowCost is about how many bytes of memory an entity takes besides its state.
const rowCost = 2 << 10

// Cache keeps the state of an entity in memory, while there is room for it. The store has it in any case.
type Cache struct {
	// Budget is the memory of waiting work.
	Budget *budget.Budget
	// Off keeps nothing.
	Off bool

	kept   *Snapshot
	memory *budget.Permit
}

// Snapshot is the state of the last commit; nil if it is not in memory.
func (c *Cache) Snapshot() *Snapshot { return c.kept }

// Keep replaces the state; nil forgets it. Half of the budget is left to calls: an idle state must not cause a call
// to be refused.
func (c *Cache) Keep(s *Snapshot) {
	if s != nil && s == c.kept {
		return
	}
	c.kept = nil
	if c.memory != nil {
		c.memory.Release()
		c.memory = nil
	}
	if s == nil || c.Off {
		return
	}
	memory, bytes := c.Budget.Empty(), rowCost+int64(s.bytes())
	if c.Budget.Used()+bytes <= c.Budget.Total()/2 && memory.Grow(bytes) {
		c.kept, c.memory = s, memory
	}
}
