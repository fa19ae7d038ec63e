package binary

// expression skips a constant expression.
func (r *reader) expression() {
	for r.err == nil {
		op := r.byte()
		if op == opEnd {
			return
		}
		if !r.skipImmediates(op) {
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

// skipImmediates skips the operands of an instruction that does not transfer
// control; false means that it is not known.
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

// skipMisc skips the operands of saturating conversions, bulk memory and table
// instructions.
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
