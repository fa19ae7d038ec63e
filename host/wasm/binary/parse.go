package binary

import (
	"fmt"
	"math"
	"slices"

	"github.com/cruster/cruster/abi"
)

// maxEntries bounds the entries of each section. The engine allocates by the counts that a module claims before it
// looks at the entries, so a few bytes could make it ask for more memory than there is, and a process does not recover
// from that.
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

// Module is as much of a module as its sections tell without a look into the code. It refers to the bytes that it was
// parsed from. It is not changed after Parse.
type Module struct {
	sections  []section
	types     []Signature
	imports   []importEntry
	functions []uint32 // type indexes of the functions that the module defines
	tables    []table
	memories  []limits
	exports   []exportEntry
	elements  uint32   // entries of all element segments
	globals   uint32   // that the module defines
	segments  []uint32 // lengths of the data segments
	hasCode   bool
	named     uint64 // one more than the highest global that constant expressions name
}

// Functions counts the functions that the module defines.
func (m *Module) Functions() int { return len(m.functions) }

// Elements counts the entries of all element segments.
func (m *Module) Elements() int { return int(m.elements) }

type section struct {
	id      byte
	content []byte
}

// Parse reads the sections of a binary. A malformed one is an *abi.Error of abi.CodeNotWasm.
func Parse(content []byte) (*Module, error) {
	m, err := parse(content)
	if err != nil {
		return nil, notWasm(err)
	}
	return m, nil
}

// notWasm makes an answer to the uploader out of a parser error. It quotes only numbers of the
// upload, and names that showName rendered.
func notWasm(err error) *abi.Error {
	return abi.Errorf(abi.CodeNotWasm, "the upload is not a WebAssembly module: %v", err)
}

func parse(content []byte) (*Module, error) {
	if len(content) < len(header) || string(content[:len(header)]) != header {
		return nil, fmt.Errorf("it does not start with the header of a Wasm module of version 1")
	}
	m := &Module{}
	r := &reader{data: content, pos: len(header)}
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
		m.sections = append(m.sections, section{id, content})
		if err := m.parseSection(id, content); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
	}
	return m, nil
}

func (m *Module) parseSection(id byte, content []byte) error {
	r := &reader{data: content}
	var entry func()
	switch id {
	case sectionType:
		entry = func() { m.types = append(m.types, r.functionType()) }
	case sectionImport:
		entry = func() { m.imports = append(m.imports, r.importEntry()) }
	case sectionFunction:
		entry = func() { m.functions = append(m.functions, r.u32()) }
	case sectionTable:
		entry = func() { m.tables = append(m.tables, table{r.valueType(), r.limits()}) }
	case sectionMemory:
		entry = func() { m.memories = append(m.memories, r.limits()) }
	case sectionExport:
		entry = func() { m.exports = append(m.exports, exportEntry{r.name(), r.byte(), r.u32()}) }
	case sectionGlobal:
		entry = func() { r.valueType(); r.byte(); r.expression(nil); m.globals++ }
	case sectionElement:
		entry = func() { m.elements += r.elementSegment(maxElements-m.elements, nil) }
	case sectionCode:
		entry = func() { r.bytes(r.u32()); m.hasCode = true }
	case sectionData:
		entry = func() { m.segments = append(m.segments, r.dataSegment()) }
	default: // custom sections are not passed on, the others are one number
		return nil
	}
	n := r.u32()
	if n > maxEntries[id] {
		return fmt.Errorf("it has %d entries, and %d are allowed", n, maxEntries[id])
	}
	for ; n > 0 && r.err == nil; n-- {
		entry()
	}
	m.named = max(m.named, r.globals)
	r.end()
	return r.err
}

// ImportNames lists the functions that the module imports, "cruster.sleep", sorted and without
// repetition: the upper bound of its abilities.
func (m *Module) ImportNames() []string {
	var names []string
	for _, imp := range m.imports {
		names = append(names, imp.module+"."+imp.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// functionSignature finds the type of a function by its index, imports first.
func (m *Module) functionSignature(index uint32) (Signature, bool) {
	typeIndex := uint32(math.MaxUint32)
	i := index
	for _, imp := range m.imports {
		if imp.kind != externFunction {
			continue
		}
		if i == 0 {
			return m.typeAt(imp.typeIndex)
		}
		i--
	}
	if int64(i) < int64(len(m.functions)) {
		typeIndex = m.functions[i]
	}
	return m.typeAt(typeIndex)
}

func (m *Module) typeAt(index uint32) (Signature, bool) {
	if int64(index) >= int64(len(m.types)) {
		return Signature{}, false
	}
	return m.types[index], true
}
