package binary

import "slices"

// The bounds of the work between two checks, in units of fuel.
const (
	// maxUnchecked is the most that a function does on any way from one check to the next.
	maxUnchecked = 5000
	// maxTail is the most that it does between a call and its return without one. A deep recursion returns through many
	// tails.
	maxTail = 100
	// maxUncheckedFunction is the most that a function does that has no check at all.
	maxUncheckedFunction = 500
	// costDispatch is the cost of a branch to a loop besides itself.
	costDispatch = 2
)

// region is a piece of a function, not always in one place, that is executed as often as its beginning is. It is paid
// for there.
type region struct {
	cost  uint64
	check bool  // see whether fuel is left
	block int32 // of a Go function that it begins in, for the host; see goblocks.go
	jumps bool  // the block is the one in local 0

	dominator *region // every way to here passes its beginning; nil at the entry
	dispatch  uint64  // the cost of choosing among blocks inside, if it is the head of a loop that does so first
	folded    uint64  // the part of its cost taken over from others
}

// Small regions are not paid for where they are: that would be most of their work.
const (
	maxFold  = 10 // the cost of a region that is paid for with its dominator
	maxFolds = 30 // the total that a region takes over
)

// fold charges small regions to the region that dominates them, whether they are executed or not.
// The dispatch at the head of a loop costs nothing: the branches that lead there are charged for
// it. Every cycle still pays, because the branch that closes it does, and its region is inside of
// the loop.
func fold(regions []*region) {
	for i := len(regions) - 1; i >= 0; i-- {
		g := regions[i]
		d := g.dominator
		switch {
		case g.dispatch > 0 && g.dispatch <= maxFold:
			g.cost -= g.dispatch
		case d != nil && !g.check && d.dispatch == 0 && g.cost <= maxFold && d.folded+g.cost <= maxFolds:
			d.cost, d.folded = d.cost+g.cost, d.folded+g.cost
			g.cost = 0
		}
	}
}

// frame is a block, loop or if that is open.
type frame struct {
	op      byte
	hasElse bool
	// resume is the region in which it began. The code behind its end belongs to that region if
	// everything inside of it leads there.
	resume *region
	// loop is the region at the head of a loop.
	loop *region
	// outermost is the outermost frame that branches inside of this one go to.
	outermost int
	// before is the unchecked cost where it began, and exits the highest with which a branch
	// arrives at its end.
	before, exits uint64
}

// meter divides a function into regions while its instructions are read.
//
// The naive way is to pay at the beginning of each basic block. There are many, and paying is a
// load, a subtraction and a store. But the code after an if is executed as often as the code before
// it, if nothing in between leaves for elsewhere; so the two are one region. The invariants: every
// instruction belongs to the region that is current when it is read, a region is executed as a
// whole unless the guest traps, and every cycle passes the check of a loop or of a function.
type meter struct {
	begin     func(*region) // is told where a region begins: at the next instruction
	regions   []*region
	current   *region
	frames    []frame
	unchecked uint64 // the most that was executed since the last check, on any way to here
	straight  bool   // every way through the function leads to here, and no call came before
	entry     *region
	switches  bool // a loop of it is a switch
	calls     bool // it calls functions that are metered themselves
	blocks    goBlocks
}

func newMeter(begin func(*region)) *meter {
	m := &meter{begin: begin, straight: true, blocks: goBlocks{current: unknownBlock}}
	m.entry = m.start(true, nil)
	m.frames = []frame{{op: opBlock, resume: m.entry}}
	return m
}

// start begins a region at the next instruction.
func (m *meter) start(check bool, dominator *region) *region {
	m.current = &region{check: check, dominator: dominator, block: m.blocks.current}
	m.regions = append(m.regions, m.current)
	if check {
		m.unchecked = 0
	}
	m.begin(m.current)
	return m.current
}

// pay charges the current region.
func (m *meter) pay(cost uint64) {
	m.current.cost += cost
	m.unchecked += cost
}

// before is told of an instruction that costs this much before it is copied: a long way gets another check.
func (m *meter) before(in *instruction, cost uint64) {
	if m.unchecked > 0 && m.unchecked+cost > maxUnchecked && in.op != opEnd && in.op != opElse {
		m.start(true, m.current)
	}
	m.pay(cost)
	switch in.op {
	case opIf, opBr, opBrIf, opBrTable, opReturn, opUnreachable, opCall, opCallIndirect, opMisc:
		m.straight = false
	}
}

// called takes note of a call of a function that is metered itself.
func (m *meter) called() {
	m.calls = true
	m.unchecked = max(m.unchecked, maxUnchecked-maxTail)
}

// finish decides how regions are paid for, once all are known. A function that neither loops nor calls needs no check
// if it is short: its caller has one soon behind it.
func (m *meter) finish() {
	var total uint64
	loops := false
	for _, g := range m.regions {
		total += g.cost
		loops = loops || g.check && g != m.entry
	}
	if !m.calls && !loops && total <= maxUncheckedFunction {
		m.entry.check = false
	}
	fold(m.regions)
	m.blocks.tellLoops()
}

// after is told of an instruction once it is copied: a transfer of control begins regions behind it.
func (m *meter) after(in *instruction) {
	switch in.op {
	case opBlock, opLoop, opIf:
		m.frames = append(m.frames, frame{op: in.op, resume: m.current, outermost: len(m.frames), before: m.unchecked})
		if in.op == opLoop {
			// A function that comes to a loop at once needs no check of its own.
			m.entry.check = m.entry.check && !m.straight
			m.frames[len(m.frames)-1].loop = m.start(true, m.current)
		} else if in.op == opIf {
			m.start(false, m.current)
		}
	case opElse:
		f := &m.frames[len(m.frames)-1]
		f.hasElse = true
		f.exits = max(f.exits, m.unchecked)
		m.unchecked = f.before
		m.start(false, f.resume)
	case opEnd:
		m.end()
	case opBr, opBrIf:
		if m.branch(in.index) {
			m.current.cost += costDispatch
			if in.op == opBr {
				m.blocks.jumped(len(m.frames)-1, m.current)
			}
		}
	case opBrTable:
		m.dispatch(in.labels)
		back := false
		for _, label := range in.labels {
			back = m.branch(label) || back
		}
		if back {
			m.current.cost += costDispatch
		}
	case opReturn:
		m.branch(uint32(len(m.frames) - 1))
	}
	switch in.op {
	case opBr, opBrTable, opReturn, opUnreachable:
		m.unchecked = 0 // nothing gets here
		m.start(false, m.current)
	case opBrIf:
		m.start(false, m.current)
	}
	m.blocks.read(in)
}

// dispatch takes note of a table of branches. If it is all that the head of a loop does, and all of them go to blocks
// inside of the loop, the loop is a switch: so are the functions that Go compiles.
func (m *meter) dispatch(labels []uint32) {
	inside := 0
	for inside < len(m.frames) && m.frames[len(m.frames)-1-inside].op == opBlock {
		inside++
	}
	loops := inside < len(m.frames)
	atHead := m.current == m.entry ||
		loops && m.frames[len(m.frames)-1-inside].loop == m.current && m.current.dominator == m.entry
	if m.blocks.table(labels, atHead, len(m.frames)) {
		m.current.jumps, m.entry.jumps = true, true
	}
	if !loops || m.frames[len(m.frames)-1-inside].loop != m.current {
		return
	}
	m.switches = true
	if !slices.ContainsFunc(labels, func(label uint32) bool { return int64(label) >= int64(inside) }) {
		m.current.dispatch = m.current.cost
	}
}

// branch takes note of a branch to a label. It reports whether that is a loop's.
func (m *meter) branch(label uint32) (back bool) {
	target := max(0, int64(len(m.frames))-1-int64(label))
	inner := &m.frames[len(m.frames)-1]
	inner.outermost = min(inner.outermost, int(target))
	f := &m.frames[target]
	if f.op != opLoop {
		f.exits = max(f.exits, m.unchecked)
	}
	return f.op == opLoop
}

// end closes the innermost frame.
func (m *meter) end() {
	last := len(m.frames) - 1
	f := m.frames[last]
	if last == 0 {
		return // the function ends
	}
	m.frames = m.frames[:last]
	m.blocks.ended(last)
	m.unchecked = max(m.unchecked, f.exits)
	if f.op == opIf && !f.hasElse {
		m.unchecked = max(m.unchecked, f.before)
	}
	if f.outermost == last {
		m.current = f.resume
		return
	}
	outer := &m.frames[last-1]
	outer.outermost = min(outer.outermost, f.outermost)
	m.start(false, f.resume)
}
