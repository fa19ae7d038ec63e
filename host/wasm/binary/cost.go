package binary

// Costs of instructions, in units of fuel. A unit is about the plainest instruction of a processor:
// well under a nanosecond. The numbers are coarse on purpose: they tell a loop from a long loop.
// It is enough that no instruction is much more expensive than its charge, and that the
// charge depends on nothing but the code.
const (
	costPlain    = 1
	costMemory   = 2 // loads, stores, globals and tables
	costFloat    = 3 // with the replacement of a NaN
	costVector   = 3
	costDivision = 8
	costCall     = 4
	costIndirect = 24 // an indirect call, and a good part of the largest leaf
	costHost     = 100
	costGrow     = 1000
	costRange    = 100 // of memory, if it is short
	// bytesPerUnit are moved, filled or copied for one unit.
	bytesPerUnit, bytesPerUnitLog2 = 8, 3
)

// costOf returns the cost of an instruction. Calls, and instructions on ranges, cost more than
// that.
func costOf(in *instruction) uint64 {
	switch op := in.op; {
	case op == 0x01, op == opBlock, op == opLoop, op == opElse, op == opEnd, op == opDrop, op >= 0x20 && op <= 0x22,
		op >= 0x41 && op <= 0x44:
		return 0 // the engine makes no code of it
	case op == opMemoryGrow:
		return costGrow
	case op >= 0x23 && op <= 0x26, op >= 0x28 && op <= 0x3e:
		return costMemory
	case op >= 0x6d && op <= 0x70, op >= 0x7f && op <= 0x82, op == 0x95, op == 0xa3, op == 0x91, op == 0x9f:
		return costDivision
	case makesNaN(op) != noLanes:
		return costFloat
	case op == opVector:
		return costVector
	}
	return costPlain
}

// A leaf is a function that is so small that it is not metered: its callers pay for it. Leaves have no loops and make
// no calls.
const maxLeafCost = 48

// leafCost returns the cost of a function if it is a leaf.
func leafCost(body []byte) (cost uint64, leaf bool) {
	r := &reader{data: body}
	r.locals()
	for r.pos < len(r.data) && r.err == nil {
		in := r.instruction()
		switch in.op {
		case opLoop, opCall, opCallIndirect, opMemoryGrow:
			return 0, false
		case opMisc:
			if in.sub >= miscMemoryInit {
				return 0, false
			}
		}
		if cost += costOf(&in); cost > maxLeafCost {
			return 0, false
		}
	}
	return cost, r.err == nil
}
