package wasm

import (
	"fmt"
	"math"
)

// Section ids and external kinds of the Wasm binary format.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12

	externFunction = 0
	externTable    = 1
	externMemory   = 2
	externGlobal   = 3
)

const wasmHeader = "\x00asm\x01\x00\x00\x00"

// signature is the type of a function; each byte is a value type.
type signature struct{ params, results string }

type section struct {
	id      byte
	content []byte
}

type importEntry struct {
	module, name string
	kind         byte
	typeIndex    uint32
}

type exportEntry struct {
	name  string
	kind  byte
	index uint32
}

type limits struct {
	min    uint32
	max    uint32
	hasMax bool
}

type table struct {
	elem byte
	limits
}

// maxEntries bounds the entries of each section. The engine allocates by the
// counts a module claims before it looks at the entries, so a few bytes could
// make it ask for more memory than there is, which nothing recovers from. Here
// every count and every length is held against the bytes that are really there.
var maxEntries = map[byte]uint32{
	sectionType:     100_000,
	sectionImport:   10_000,
	sectionFunction: 500_000,
	sectionTable:    100,
	sectionMemory:   1,
	sectionGlobal:   100_000,
	sectionExport:   100_000,
	sectionElement:  100_000,
	sectionCode:     500_000,
	sectionData:     2_000_000,
}

// maxElements bounds the entries of all element segments together.
const maxElements = 500_000

// layout is as much of a module as can be told from its sections without
// looking into the code. It is read before the engine sees the module, so that
// what the host does not want is refused cheaply and with a clear reason. The
// engine validates the rest.
type layout struct {
	sections  []section
	types     []signature
	imports   []importEntry
	functions []uint32 // type indexes of the functions the module defines
	tables    []table
	memories  []limits
	exports   []exportEntry
	elements  uint32 // entries of all element segments
}

// readLayout parses the sections of a binary.
func readLayout(binary []byte) (*layout, error) {
	if len(binary) < len(wasmHeader) || string(binary[:len(wasmHeader)]) != wasmHeader {
		return nil, fmt.Errorf("it does not start with the header of a Wasm module of version 1")
	}
	l := &layout{}
	r := &sectionReader{data: binary, pos: len(wasmHeader)}
	seen := make(map[byte]bool)
	for r.pos < len(r.data) {
		id := r.byte()
		content := r.bytes(r.u32())
		if r.err != nil {
			return nil, fmt.Errorf("section %d: %w", id, r.err)
		}
		if id != sectionCustom && seen[id] {
			return nil, fmt.Errorf("section %d occurs twice", id)
		}
		if id > sectionDataCount {
			return nil, fmt.Errorf("section %d is unknown", id)
		}
		seen[id] = true
		l.sections = append(l.sections, section{id, content})
		if err := l.readSection(id, content); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
	}
	return l, nil
}

func (l *layout) readSection(id byte, content []byte) error {
	r := &sectionReader{data: content}
	var item func()
	switch id {
	case sectionType:
		item = func() { l.types = append(l.types, r.functionType()) }
	case sectionImport:
		item = func() { l.imports = append(l.imports, r.importEntry()) }
	case sectionFunction:
		item = func() { l.functions = append(l.functions, r.u32()) }
	case sectionTable:
		item = func() { l.tables = append(l.tables, table{r.valueType(), r.limits()}) }
	case sectionMemory:
		item = func() { l.memories = append(l.memories, r.limits()) }
	case sectionExport:
		item = func() { l.exports = append(l.exports, exportEntry{r.name(), r.byte(), r.u32()}) }
	case sectionGlobal:
		item = func() { r.valueType(); r.byte(); r.expression() }
	case sectionElement:
		item = func() { l.elements += r.elementSegment(maxElements - l.elements) }
	case sectionCode:
		item = func() { r.bytes(r.u32()) }
	case sectionData:
		item = r.dataSegment
	default: // custom sections are not passed on, the others are one number
		return nil
	}
	n := r.u32()
	if n > maxEntries[id] {
		return fmt.Errorf("it has %d entries, and %d are allowed", n, maxEntries[id])
	}
	for ; n > 0 && r.err == nil; n-- {
		item()
	}
	if r.err == nil && r.pos != len(r.data) {
		return fmt.Errorf("%d bytes behind its last entry", len(r.data)-r.pos)
	}
	return r.err
}

// functionSignature finds the type of a function by its index, imports first.
func (l *layout) functionSignature(index uint32) (signature, bool) {
	typeIndex := uint32(math.MaxUint32)
	i := index
	for _, imp := range l.imports {
		if imp.kind != externFunction {
			continue
		}
		if i == 0 {
			typeIndex = imp.typeIndex
			return l.typeAt(typeIndex)
		}
		i--
	}
	if int64(i) < int64(len(l.functions)) {
		typeIndex = l.functions[i]
	}
	return l.typeAt(typeIndex)
}

func (l *layout) typeAt(index uint32) (signature, bool) {
	if int64(index) >= int64(len(l.types)) {
		return signature{}, false
	}
	return l.types[index], true
}
