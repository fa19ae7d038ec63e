package binary

// expression skips a constant expression. A function that it names is told to named, if there is one.
func (r *reader) expression(named func(at, end int, function uint32)) {
	for r.err == nil {
		op := r.byte()
		if op == opEnd {
			return
		}
		switch at := r.pos; {
		case op == opRefFunc:
			function := r.u32()
			if named != nil {
				named(at, r.pos, function)
			}
		case op == opGlobalGet:
			r.globals = max(r.globals, uint64(r.u32())+1)
		case !r.skipImmediates(op):
			r.fail("a constant expression has the instruction %#x", op)
		}
	}
}

// locals skips the declarations of a function's locals and counts them.
func (r *reader) locals() (total uint64) {
	for groups := r.u32(); groups > 0 && r.err == nil; groups-- {
		total += uint64(r.u32())
		r.valueType()
		if total > maxLocals {
			r.fail("a function has more than %d locals", maxLocals)
		}
	}
	return total
}

// instruction is one of a function's body.
type instruction struct {
	at, end int    // where it begins, and where the next one does
	op      byte   //
	sub     uint32 // behind a prefix
	// the label, function, global, type or segment that it names first, or the local of local.get and local.set
	index   uint32
	operand int   // where that stands
	value   int32 // of an i32.const
	labels  []uint32
	// blockType is the type of a block, loop or if. Negative ones are no indexes.
	blockType int64
}

// instruction reads the next one, and fails if it does not know it.
func (r *reader) instruction() instruction {
	in := instruction{at: r.pos}
	in.op = r.byte()
	in.operand = r.pos
	known := true
	switch in.op {
	case opBlock, opLoop, opIf:
		if in.blockType, known = r.s35(); !known {
			r.fail("the type of a block has more than 33 bits")
		}
	case opElse, opUnreachable, opReturn:
	case opBr, opBrIf, opCall, opRefFunc, opLocalGet, opLocalSet, opGlobalGet, opGlobalSet:
		in.index = r.u32()
	case opBrTable:
		for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
			in.labels = append(in.labels, r.u32())
		}
	case opCallIndirect:
		in.index = r.u32()
		r.u32()
	case opI32Const:
		in.value, _ = r.s32()
	case opMisc:
		in.sub = r.u32()
		in.operand = r.pos
		if in.sub == miscMemoryInit {
			in.index = r.u32()
			r.pos = in.operand
		}
		known = r.err == nil && r.skipMisc(in.sub)
	case opVector:
		in.sub = r.u32()
		known = r.skipVector(in.sub)
	default:
		known = r.skipImmediates(in.op)
	}
	if !known && (in.op == opMisc || in.op == opVector) {
		r.fail("the instruction %#x %d is unknown", in.op, in.sub)
	} else if !known {
		r.fail("the instruction %#x is unknown", in.op)
	}
	in.end = r.pos
	return in
}

// skipImmediates skips the operands of an instruction that does not transfer control; false means that it is not known.
func (r *reader) skipImmediates(op byte) bool {
	switch {
	case op == 0x01, op == 0x05, op == 0x0b, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
	case op == 0x1c: // select with types
		r.bytes(r.u32())
	case op >= 0x20 && op <= 0x26, op == 0xd2: // variables, tables, ref.func
		r.u32()
	case op >= 0x28 && op <= 0x3e: // loads and stores
		r.u32()
		r.u32()
	case op == 0x3f, op == 0x40, op == 0xd0: // memory.size, memory.grow, ref.null
		r.byte()
	case op == 0x41, op == 0x42: // i32.const, i64.const
		r.signed()
	case op == 0x43: // f32.const
		r.bytes(4)
	case op == 0x44: // f64.const
		r.bytes(8)
	case op == opMisc:
		return r.skipMisc(r.u32())
	case op == opVector:
		return r.skipVector(r.u32())
	default:
		return false
	}
	return true
}

// skipMisc skips the operands of saturating conversions, bulk memory and table instructions.
func (r *reader) skipMisc(op uint32) bool {
	switch {
	case op <= 7:
	case op == 9, op == 11, op == 13, op >= 15 && op <= 17:
		r.u32()
	case op == 8, op == 10, op == 12, op == 14:
		r.u32()
		r.u32()
	default:
		return false
	}
	return true
}

// skipVector skips the operands of vector instructions.
func (r *reader) skipVector(op uint32) bool {
	switch {
	case op <= 11, op == 92, op == 93: // loads and stores
		r.u32()
		r.u32()
	case op == 12, op == 13: // v128.const, shuffle
		r.bytes(16)
	case op >= 21 && op <= 34: // lanes
		r.byte()
	case op >= 84 && op <= 91: // loads and stores of one lane
		r.u32()
		r.u32()
		r.byte()
	case op > 255:
		return false
	}
	return true
}
