package binary

import "fmt"

// findHiddenState fails if code can change state that the engine does not show: the entries of
// tables, and which segments are dropped.
func findHiddenState(content []byte) error {
	bodies, err := readBodies(content)
	if err != nil {
		return err
	}
	for _, body := range bodies {
		if err := eachInstruction(body, refuseHiddenState); err != nil {
			return err
		}
	}
	return nil
}

func refuseHiddenState(in *instruction) error {
	switch in.op {
	case opTableSet:
		return fmt.Errorf("it changes tables")
	case opMisc:
		switch in.sub {
		case miscTableInit, miscElemDrop, miscTableCopy, miscTableGrow, miscTableFill:
			return fmt.Errorf("it changes tables")
		case miscMemoryInit, miscDataDrop:
			return fmt.Errorf("it uses passive data segments")
		}
	}
	return nil
}

// eachInstruction shows the instructions of a function's body to look, until it fails.
func eachInstruction(body []byte, look func(*instruction) error) error {
	var in instruction // one for all: look may retain its argument, as far as the compiler knows
	r := &reader{data: body}
	r.locals()
	for r.pos < len(r.data) && r.err == nil {
		in = r.instruction()
		if err := look(&in); err != nil {
			return err
		}
	}
	return r.err
}
