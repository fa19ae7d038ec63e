package binary

import (
	"fmt"
	"strings"
)

// # Fuel
//
// Native code can neither be stopped nor be preempted. A guest that computes for long would hold up
// the host's garbage collector, and an endless one would never return. So the code counts: a global
// that the guest does not know holds fuel, every piece of code subtracts its cost, and at loop
// heads, at function entries and along straight code it is compared with zero. Below zero the guest
// calls the host, which fills it up again or ends the guest.
//
// Invariants:
//
//   - The fuel that a guest has used is a function of its code and its input: it does not depend
//     on when the host fills up, nor on time.
//   - Between two checks a guest does little (maxUnchecked), whatever it does. Work on
//     ranges of memory is done in pieces (ranges.go).
//   - A guest can neither read nor change the fuel: no instruction of it names the
//     global, and names of exports that begin with "cruster:" are ours.
//
// The engine offers a check of its own at loop heads (WithCloseOnContextDone). It leaves native code every time, which
// makes tight loops ten times as slow, it does not see recursion, and it counts nothing.
//
// The function that is called when fuel is out is the last of the imports, so all functions of the module move up by
// one: their numbers change wherever they are named.

// The import that a rewritten module calls when its fuel is below zero: (block i32) → (). The block says where
// in a function of Go it is (goblocks.go).
const (
	FuelModule   = "cruster:host"
	FuelFunction = "refuel"
)

// reservedExports is how the names of exports begin that are ours. Such exports of an upload are dropped: no host asks
// for them.
const reservedExports = "cruster:"

// fuelIndexes are where a rewritten module has its fuel counters.
type fuelIndexes struct {
	imported uint32 // functions that the module imports
	refuel   uint32 // the function
	global   uint32
	types    uint32 // the first of ownTypes

	// cached says that a function has the value of the global in a local as well: it writes both, and reads the local.
	// A function that Go compiled passes the head of its loop at every jump, and would wait there for its last write
	// each time. For others the local only takes a register away.
	cached bool
	local  uint64
	end    uint64 // one more than the last function of the upload
}

// ownTypes are the types of functions that we add.
var ownTypes = []Signature{
	typeRefuel: {Params: oneI32},
	typeRange:  {Params: strings.Repeat(oneI32, 3)},
	typeCharge: {Params: oneI32, Results: oneI32},
	typePair:   {Params: strings.Repeat(oneI32, 2)},
	typeEntry:  {Params: oneI32},
}

const (
	typeRefuel = iota
	typeRange
	typeCharge
	typePair
	typeEntry
)

func (m *Module) fuelIndexes() fuelIndexes {
	f := fuelIndexes{types: uint32(len(m.types)), global: m.globals}
	for _, imp := range m.imports {
		switch imp.kind {
		case externFunction:
			f.imported++
		case externGlobal:
			f.global++
		}
	}
	f.refuel, f.end = f.imported, uint64(f.imported)+uint64(len(m.functions))
	return f
}

// checkNames fails if the sections of an upload, besides its code, name something that it does not have. It would be
// ours.
func (f fuelIndexes) checkNames(m *Module) error {
	if m.named > uint64(f.global) {
		return fmt.Errorf("it names the global %d, and has %d", m.named-1, f.global)
	}
	for _, t := range m.functions {
		if t >= f.types {
			return fmt.Errorf("it names the type %d, and has %d", t, f.types)
		}
	}
	for _, e := range m.exports {
		switch {
		case e.kind == externFunction && uint64(e.index) >= f.end:
			return fmt.Errorf("it exports the function %d, and has %d", e.index, f.end)
		case e.kind == externGlobal && e.index >= f.global:
			return fmt.Errorf("it exports the global %d, and has %d", e.index, f.global)
		}
	}
	return nil
}

// checkName fails if an instruction names something that the upload does not have.
func (f fuelIndexes) checkName(in *instruction) error {
	switch in.op {
	case opBlock, opLoop, opIf:
		if in.blockType >= int64(f.types) {
			return fmt.Errorf("its code names the type %d, and it has %d", in.blockType, f.types)
		}
	case opCallIndirect:
		if in.index >= f.types {
			return fmt.Errorf("its code names the type %d, and it has %d", in.index, f.types)
		}
	case opGlobalGet, opGlobalSet:
		if in.index >= f.global {
			return fmt.Errorf("its code names the global %d, and it has %d", in.index, f.global)
		}
	case opCall, opRefFunc:
		if uint64(in.index) >= f.end {
			return fmt.Errorf("its code names the function %d, and it has %d", in.index, f.end)
		}
	}
	return nil
}

// shift is the new number of a function.
func (f fuelIndexes) shift(function uint32) uint64 {
	if function < f.imported || uint64(function) >= f.end {
		return uint64(function)
	}
	return uint64(function) + 1
}

// appendPayment subtracts the cost of a region, and checks whether fuel is left.
func (f fuelIndexes) appendPayment(out []byte, g *region) []byte {
	if g.cost > 0 {
		out = f.appendLoad(out)
		out = appendS64(append(out, opI64Const), int64(g.cost))
		out = append(out, opI64Sub)
		if f.cached {
			out = appendU32(append(out, opLocalTee), f.local)
		}
		out = appendU32(append(out, opGlobalSet), uint64(f.global))
	}
	if g.check {
		out = f.appendCheck(out, g)
	}
	return out
}

// appendCheck calls the host if fuel is out, and tells it where the region is. The engine knows the value of a global
// that was just set, so nothing is loaded.
func (f fuelIndexes) appendCheck(out []byte, g *region) []byte {
	out = f.appendLoad(out)
	out = append(out, opI64Const, 0, opI64LtS, opIf, noBlockType)
	if g.jumps {
		out = append(out, opLocalGet, 0)
	} else {
		out = appendS32(append(out, opI32Const), g.block)
	}
	out = appendU32(append(out, opCall), uint64(f.refuel))
	return append(f.appendReload(out), opEnd)
}

func (f fuelIndexes) appendLoad(out []byte) []byte {
	if f.cached {
		return appendU32(append(out, opLocalGet), f.local)
	}
	return appendU32(append(out, opGlobalGet), uint64(f.global))
}

// appendReload takes note that the fuel was changed by others.
func (f fuelIndexes) appendReload(out []byte) []byte {
	if !f.cached {
		return out
	}
	out = appendU32(append(out, opGlobalGet), uint64(f.global))
	return appendU32(append(out, opLocalSet), f.local)
}

// costOfCall returns the cost of a call besides its instruction.
func (ctx *codeContext) costOfCall(in *instruction) uint64 {
	switch {
	case in.op == opCallIndirect:
		return costIndirect
	case in.op != opCall:
		return 0
	case in.index < ctx.fuel.imported:
		return costHost
	case ctx.isMetered(in.index):
		return costCall
	default:
		return costCall + ctx.leaves[in.index-ctx.fuel.imported]
	}
}

// isMetered tells whether a function pays for itself.
func (ctx *codeContext) isMetered(function uint32) bool {
	if function < ctx.fuel.imported {
		return false
	}
	number := int64(function - ctx.fuel.imported)
	return number >= int64(len(ctx.leaves)) || ctx.leaves[number] == notLeaf
}
