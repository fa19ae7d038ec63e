package binary

import "fmt"

// findHiddenState fails if code can change what the engine does not show: the
// entries of tables, and which segments are dropped.
func findHiddenState(content []byte) error {
	r := &reader{data: content}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		if err := findHiddenStateOf(r.bytes(r.u32())); err != nil {
			return err
		}
	}
	return r.err
}

func findHiddenStateOf(body []byte) error {
	r := &reader{data: body}
	r.locals()
	for r.pos < len(r.data) && r.err == nil {
		op := r.byte()
		switch op {
		case opBlock, opLoop, opIf:
			r.signed()
		case opElse, opUnreachable, opReturn:
		case opBr, opBrIf, opCall:
			r.u32()
		case opBrTable:
			for n := uint64(r.u32()) + 1; n > 0 && r.err == nil; n-- {
				r.u32()
			}
		case opCallIndirect:
			r.u32()
			r.u32()
		case opTableSet:
			return fmt.Errorf("it changes tables")
		case opMisc:
			misc := r.u32()
			switch misc {
			case miscTableInit, miscElemDrop, miscTableCopy, miscTableGrow, miscTableFill:
				return fmt.Errorf("it changes tables")
			case miscMemoryInit, miscDataDrop:
				return fmt.Errorf("it uses passive data segments")
			}
			if !r.skipMisc(misc) {
				return fmt.Errorf("the instruction 0xfc %d is unknown", misc)
			}
		default:
			if !r.skipImmediates(op) {
				return fmt.Errorf("the instruction %#x is unknown", op)
			}
		}
	}
	return r.err
}
