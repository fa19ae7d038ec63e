package symbolize

import (
	"bytes"
	"encoding/binary"
)

// A function that was inlined has no frame on the stack, and its lines are among the lines of the
// enclosing function. A Go program knows the inlined call of each block, and where that was
// called: a function's record has a table of the numbers of calls by block, and the place of their
// records, which is counted from an address in the program's description of itself.
const (
	moduleInlined = 8 * 40 // where the description has that address; it begins with those of the table and of the names
	inlinedTable  = 2      // among the tables of a function
	inlinedPlace  = 3      // among its places
	noPlace       = 1<<32 - 1
)

// Where the fields of an inlined call's record are, and its size.
const (
	inlinedName   = 4
	inlinedCaller = 8 // a block that has the line of the call
	inlinedSize   = 16
)

const maxInlined = 16 // calls inside each other

// findInlined looks for the base address of the records of inlined calls.
func (p *goProgram) findInlined(table uint64) uint64 {
	begin := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, table), p.names)
	at := bytes.Index(p.memory, begin)
	if at < 0 {
		return 0
	}
	return p.u64(uint64(at) + moduleInlined)
}

// frames returns a call and the calls inlined at its place, innermost first.
func (p *goProgram) frames(c goCall) (frames []goPlace) {
	if c.behind == 0 || p.position(c.function, c.behind-1) == "" {
		return []goPlace{{name: p.name(c.function), position: p.begin(c.function), from: true}}
	}
	block := c.behind - 1
	for range maxInlined {
		name, caller, ok := p.inlinedAt(c.function, block)
		if !ok {
			break
		}
		frames = append(frames, goPlace{name: name, position: p.position(c.function, block)})
		block = caller
	}
	frames = append(frames, goPlace{name: p.name(c.function), position: p.position(c.function, block)})
	frames[0].from = c.after
	return frames
}

// inlinedAt is the inlined function that a block is of, and a block of its caller with the line of the call.
func (p *goProgram) inlinedAt(function, block uint64) (name string, caller uint64, ok bool) {
	record := p.record(function)
	tables := uint64(p.u32(record + recordTables))
	if p.inlined == 0 || tables <= inlinedTable || p.u32(record+recordPlaces)&0xff <= inlinedPlace {
		return "", 0, false
	}
	number := p.valueAt(record+recordEnd+4*inlinedTable, block)
	place := p.u32(record + recordEnd + 4*(tables+inlinedPlace))
	if number < 0 || place == noPlace {
		return "", 0, false
	}
	call := p.inlined + uint64(place) + inlinedSize*uint64(number)
	name = p.string(p.names + uint64(p.u32(call+inlinedName)))
	return name, uint64(p.u32(call + inlinedCaller)), name != ""
}
