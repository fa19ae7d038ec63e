package binary

// # Where a Go function is
//
// When a guest has run out of fuel, the message says where it was. Go keeps the addresses of calls on its own stack,
// but nothing of where the innermost function is. So a check tells the host, and only when it calls it: nothing is
// added to the way past the check.
//
// A function that Go compiles is a row of blocks. Its first parameter is the number of the block that it begins or
// goes on with, and a table of branches at its head leads there:
//
//	block               ;; a call has to give up the stack
//	  loop
//	    block block block …
//	      local.get 0
//	      br_table 0 0 1 2 2 2 3 …
//	    end …           ;; blocks 0 and 1
//	    end …           ;; block 2
//
// Every jump, forwards or backwards, sets local 0 to the number of its target and branches to the loop. So at the head
// of the function and of that loop, local 0 is where the function is about to be. At a check in between, which is along
// straight code and behind calls, it is older than that: there the number is known from the code. Several numbers may
// share an entry of the table, when an inlined function begins or ends between them; the first is where it leads.
//
// Numbers of blocks are the lower part of an address in Go's own tables, by which the host finds the line.
//
// One kind of loop has no line in these tables: an empty one. Go gives its jump the line 1 on purpose, and its
// beginning the line of whatever precedes it in the code. That is a block before it in the program only if the one
// leads to the other. So there the check is in the loop, and tells how the loop was entered.
//
// Code that no Go compiler made may look the same. The places that it reports mean nothing, and
// cost nothing.

// unknownBlock is told by a check that is not in a block of Go.
const unknownBlock = -1

// Place is where in a function of Go a check is, as it tells the host.
type Place struct {
	// Behind is the block after the current one, as of a return address; 0 if that is not known.
	Behind uint64
	// Empty says that it is in an empty loop. The block is its predecessor.
	Empty bool
	// After says that this block has not the line of the loop, but one before.
	After bool
}

// PlaceOf decodes the place reported by a check.
func PlaceOf(told int32) Place {
	if told >= unknownBlock {
		return Place{Behind: uint64(int64(told) + 1)}
	}
	entered := unknownBlock - 1 - int64(told)
	return Place{Behind: uint64(entered >> 1), Empty: true, After: entered&1 == 0}
}

// tellEntered returns the report of an empty loop that was entered from the block before this one.
// At says that it ends with the line of the loop.
func tellEntered(behind int32, at bool) int32 {
	told := unknownBlock - 1 - behind<<1
	if at {
		told--
	}
	return told
}

// goBlocks follows the blocks of a function while its instructions are read.
type goBlocks struct {
	first   []int32   // by entry of the table: the first block that it leads to
	frame   int       // whose end the next of them begins behind
	entry   int       // of the table, that is read: -1 before the first
	current int32     // the block that it leads to
	last    [3]goStep // the instructions before this one, the last first
	length  int       // how many were read of this block
	way     goWay     // from the block before
	jumps   []goWay
	empty   []emptyLoop
}

// goStep is an instruction, as far as it matters here.
type goStep struct {
	op    byte
	index uint32
	value int32
}

// goWay is how a block is entered.
type goWay struct {
	from   int   // the entry of the table that it is from, if it is a jump
	to     int32 // the block
	exists bool
	only   bool // the block that it is from has no other way
}

// emptyLoop is a block that does nothing but jump to itself.
type emptyLoop struct {
	block  int32
	way    goWay
	region *region // that pays for it
}

// table takes note of a table of branches. It reports whether it is the table at the head of a function of Go: the
// frames that are open are only blocks, and at most a loop that has just begun.
func (b *goBlocks) table(labels []uint32, atHead bool, frames int) bool {
	if b.first != nil || b.last[0].op != opLocalGet || b.last[0].index != 0 || !atHead {
		return false
	}
	for block, label := range labels {
		if int64(label) == int64(len(b.first)) {
			b.first = append(b.first, int32(block))
		}
	}
	if len(b.first) == 0 {
		return false
	}
	if len(labels) > 1 && labels[1] == 0 {
		b.first[0] = 1 // block 0 is where the function makes its frame
	}
	b.frame, b.entry = frames-1, -1
	return true
}

// ended takes note of the end of a frame.
func (b *goBlocks) ended(frame int) {
	if b.first == nil || frame != b.frame {
		return
	}
	b.way = goWay{only: b.last[0].op != opEnd || b.length == 0}
	switch b.last[0].op {
	case opBr, opBrTable, opReturn, opUnreachable:
	default:
		b.way.exists = true
	}
	b.entry++
	b.frame--
	b.current, b.length = unknownBlock, -1
	if b.entry < len(b.first) {
		b.current = b.first[b.entry]
	}
}

// jumped takes note of a branch to the loop.
func (b *goBlocks) jumped(frame int, g *region) {
	set, target := &b.last[0], &b.last[1]
	if b.first == nil || set.op != opLocalSet || set.index != 0 || target.op != opI32Const {
		return
	}
	if target.value == b.current && b.length == 2 {
		b.empty = append(b.empty, emptyLoop{block: b.current, way: b.way, region: g})
		return
	}
	only := frame == b.frame && (b.last[2].op != opEnd || b.length == 2)
	b.jumps = append(b.jumps, goWay{from: b.entry, to: target.value, exists: true, only: only})
}

// read takes note of an instruction.
func (b *goBlocks) read(in *instruction) {
	if in.op == opNop {
		return
	}
	b.last = [3]goStep{{in.op, in.index, in.value}, b.last[0], b.last[1]}
	b.length++
}

// tellLoops has the checks of empty loops tell how they were entered.
func (b *goBlocks) tellLoops() {
	for _, loop := range b.empty {
		way, behind := loop.way, loop.block+1 // a way that is no jump has its line where it leads
		for _, jump := range b.jumps {
			if !way.exists && jump.to == loop.block && jump.from+1 < len(b.first) {
				way, behind = jump, b.first[jump.from+1]
			}
		}
		if way.exists {
			loop.region.check, loop.region.jumps = true, false
			loop.region.block = tellEntered(behind, way.only)
		}
	}
}
