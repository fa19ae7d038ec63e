package symbolize

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
)

// goProgram is the table of functions that a Go program carries in its memory, and that Go's own
// traces are made of: it is there without debug information too. It is read when a guest was
// stopped. Everything in it is the guest's own, so an address outside of memory reads as zero,
// every loop has a bound, and nothing of it decides anything: it is shown.
//
// The table begins with a magic number and eight words: the numbers of functions and of files,
// where the text begins, and where names, files of compilation units, files, tables of lines and
// functions are. For each function, in the order of the module, there are two numbers of 32 bits,
// its address and where its record is.
type goProgram struct {
	memory                            []byte
	count                             uint64
	names, units, files, tables, text uint64
	// where the records of inlined calls are counted from; 0 if they were not found
	inlined uint64
	steps   int // that may still be taken in tables
}

// goTable begins the table since Go 1.20, for Wasm.
const goTable = "\xf1\xff\xff\xff\x00\x00\x01\x08"

// Numbers of Go's code for Wasm: an address is the number of a function, counted from firstGoFunction,
// and the number of a block in it.
const (
	firstGoFunction = 0x1000
	blockBits       = 16
	maxGoFunctions  = 1<<blockBits - firstGoFunction
)

// MaxText bounds a name, or a path, that is read from a guest's memory.
const MaxText = 300

// Limits for reading a stopped guest.
const (
	maxGoFrames  = 64
	maxGoChanges = 10_000 // of the lines of one function
	// in all tables of a program: a hostile one would have each be walked to its end, again and again
	maxGoSteps = 200_000
	maxGoNames = 4 << 20 // bytes of the names of all functions
)

// Where the fields of a function's record are.
const (
	recordName   = 4
	recordFrame  = 16
	recordFile   = 20
	recordLine   = 24
	recordTables = 28 // how many more tables it has
	recordUnit   = 32
	recordBegins = 36
	recordPlaces = 43 // a byte: how many places of data it has
	recordEnd    = 44 // the tables, and the places behind them
)

// IsGo reports whether the memory of a guest is a Go program's.
func IsGo(memory []byte) bool {
	_, ok := findGoProgram(memory)
	return ok
}

// findGoProgram looks for the table in the memory of a guest.
func findGoProgram(memory []byte) (*goProgram, bool) {
	at := bytes.Index(memory, []byte(goTable))
	if at < 0 {
		return nil, false
	}
	p := &goProgram{memory: memory, steps: maxGoSteps}
	header := func(word uint64) uint64 { return p.u64(uint64(at) + 8 + 8*word) }
	p.count = header(0)
	p.names, p.units, p.files = uint64(at)+header(3), uint64(at)+header(4), uint64(at)+header(5)
	p.tables, p.text = uint64(at)+header(6), uint64(at)+header(7)
	p.inlined = p.findInlined(uint64(at))
	return p, p.count > 0 && p.count <= maxGoFunctions
}

// goCall is one call that was under way.
type goCall struct {
	function uint64 // by its place in the table
	// the block after the current one; 0 if that is not known: then the line is where the function begins
	behind uint64
	after  bool // it is not in that block, but behind it
}

// stack follows the calls from the innermost function outwards. The pointer is where Go's stack
// ends. The function may not have made its frame yet: the caller's address tells.
func (p *goProgram) stack(innermost goCall, pointer uint64) []goCall {
	calls := []goCall{innermost}
	frames := []uint64{p.frame(innermost), 0}
	if innermost.behind == 1 { // it has just been called
		slices.Reverse(frames)
	}
	for _, frame := range frames {
		if call, ok := p.callAt(pointer + frame); ok {
			pointer += frame + 8
			calls = append(calls, call)
			break
		}
	}
	for len(calls) > 1 && len(calls) < maxGoFrames {
		frame := p.frame(calls[len(calls)-1])
		call, ok := p.callAt(pointer + frame)
		if !ok {
			break
		}
		pointer += frame + 8
		calls = append(calls, call)
	}
	return calls
}

// callAt reads a return address from the stack. It is behind the call.
func (p *goProgram) callAt(at uint64) (goCall, bool) {
	pc := p.u64(at)
	call := goCall{function: pc>>blockBits - firstGoFunction, behind: pc & (1<<blockBits - 1)}
	return call, pc>>blockBits >= firstGoFunction && call.function < p.count && call.behind > 0
}

func (p *goProgram) record(function uint64) uint64 {
	return p.text + uint64(p.u32(p.text+8*function+4))
}

func (p *goProgram) name(function uint64) string {
	return p.string(p.names + uint64(p.u32(p.record(function)+recordName)))
}

// frame is the size of a call's frame. The innermost has the frame behind its first block.
func (p *goProgram) frame(c goCall) uint64 {
	return uint64(max(0, p.valueAt(p.record(c.function)+recordFrame, max(c.behind, 1))))
}

// position is the file and line of a block, "orders/main.go:12"; empty if it is not known.
func (p *goProgram) position(function, block uint64) string {
	return p.line(function, block, p.valueAt(p.record(function)+recordLine, block))
}

// begin is the file and line where a function begins.
func (p *goProgram) begin(function uint64) string {
	return p.line(function, 0, int64(p.u32(p.record(function)+recordBegins)))
}

// line names a line of the file that a block is from.
func (p *goProgram) line(function, block uint64, line int64) string {
	record := p.record(function)
	file := p.valueAt(record+recordFile, block)
	if file < 0 || line <= 0 {
		return ""
	}
	offset := p.u32(p.units + 4*(uint64(p.u32(record+recordUnit))+uint64(file)))
	return fmt.Sprintf("%s:%d", ShortPath(path.Clean(p.string(p.files+uint64(offset)))), line)
}

// valueAt reads a table of values by block of a function: pairs of how much the value
// changes and for how many blocks.
func (p *goProgram) valueAt(field, block uint64) int64 {
	offset := p.u32(field)
	if offset == 0 {
		return -1
	}
	at, value, reached := p.tables+uint64(offset), int64(-1), uint64(0)
	for n := range maxGoChanges {
		if p.steps == 0 {
			break
		}
		p.steps--
		change, blocks := uint64(0), uint64(0)
		if change, at = p.varint(at); change == 0 && n > 0 {
			break
		}
		value += int64(change>>1) ^ -int64(change&1)
		if blocks, at = p.varint(at); reached+blocks > block {
			return value
		}
		reached += blocks
	}
	return -1
}

func (p *goProgram) varint(at uint64) (value, behind uint64) {
	if at >= uint64(len(p.memory)) {
		return 0, at
	}
	rest := p.memory[at:]
	value, n := binary.Uvarint(rest[:min(len(rest), binary.MaxVarintLen32)])
	return value & 0xffffffff, at + uint64(max(n, 1))
}

func (p *goProgram) u32(at uint64) uint32 {
	if at > uint64(len(p.memory)) || uint64(len(p.memory))-at < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(p.memory[at:])
}

func (p *goProgram) u64(at uint64) uint64 {
	return uint64(p.u32(at)) | uint64(p.u32(at+4))<<32
}

func (p *goProgram) string(at uint64) string {
	if at >= uint64(len(p.memory)) {
		return ""
	}
	text := p.memory[at:min(uint64(len(p.memory)), at+MaxText)]
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	return string(text)
}

// find is the function that has the first of some names that the table has. They are as the name section
// of a module has them, where other characters are underscores. The table is read once, as far as
// maxGoNames: functions behind that are not found.
func (p *goProgram) find(names []string) (function uint64, ok bool) {
	places := make(map[string]int, len(names))
	for i, name := range slices.Backward(names) {
		places[name] = i
	}
	first := len(names)
	for f, left := uint64(0), maxGoNames; f < p.count && first > 0; f++ {
		name := p.name(f)
		if left -= len(name); left < 0 {
			break
		}
		if i, ok := places[plainName(name)]; ok && i < first {
			function, first = f, i
		}
	}
	return function, first < len(names)
}

func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}
