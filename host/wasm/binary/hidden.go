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
		switch in := r.instruction(); {
		case in.op == opTableSet:
			return fmt.Errorf("it changes tables")
		case in.op == opMisc:
			switch in.sub {
			case miscTableInit, miscElemDrop, miscTableCopy, miscTableGrow, miscTableFill:
				return fmt.Errorf("it changes tables")
			case miscMemoryInit, miscDataDrop:
				return fmt.Errorf("it uses passive data segments")
			}
		}
	}
	return r.err
}
