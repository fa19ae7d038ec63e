package binary

import (
	"fmt"
	"strconv"
	"strings"
)

// The names of a template's exports besides its module's.
const (
	globalExport = "cruster:global:"
	// StartExport is the start function of the module.
	StartExport = "cruster:start"
	// FuelExport is the mutable global that counts fuel, if the module has one. It is set before every call and is no
	// part of an instance's state.
	FuelExport = "cruster:fuel"
)

// maxTemplateGlobals bounds the globals that are set for every instance.
const maxTemplateGlobals = 1000

// Template is a module whose instances the host can bring into any state that one of them was in between two calls:
// memory and mutable globals are all they have, and both are within the host's reach. The engine fills and starts
// nothing when it makes one.
type Template struct {
	// Content is the binary: without data segments and start function, with its mutable globals and the start function
	// exported. It is no part of an encoded template, which would be as long again.
	Content []byte `msgpack:"-"`
	// Globals are the names under which the mutable globals are exported, without FuelExport.
	Globals []string
	// Segments are the contents of memory before the start function runs.
	Segments []Segment
	// HasStart says that there is a start function, exported as StartExport.
	HasStart bool
}

// Segment is a piece of initial memory.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// MakeTemplate takes the binary apart that Rewrite returned for the module. The error says which state of its instances
// would be out of the host's reach: such a module has no template, and there is nothing wrong with it.
//
// The engine offers no access to tables, to the remainder of passive segments, to references in
// globals and to the upper half of vectors. A module that never changes its tables and its segments
// has them as they were, so all its code is scanned: the upload's code, as Rewrite's additions only
// fill tables with the entries due there (ondemand.go).
func (m *Module) MakeTemplate(rewritten []byte) (*Template, error) {
	out, err := parse(rewritten)
	if err != nil {
		return nil, err
	}
	t := &Template{}
	indexes, err := out.settableGlobals()
	if err != nil {
		return nil, err
	}
	exports := make([]exportEntry, 0, len(indexes)+1)
	for _, index := range indexes {
		name := globalExport + strconv.FormatUint(uint64(index), 10)
		t.Globals = append(t.Globals, name)
		exports = append(exports, exportEntry{name, externGlobal, index})
	}
	for _, e := range out.exports {
		if e.name == StartExport || strings.HasPrefix(e.name, globalExport) {
			return nil, fmt.Errorf("it exports something as %s", showName(e.name))
		}
	}
	for _, s := range out.sections {
		switch s.id {
		case sectionData:
			t.Segments, err = out.initialMemory(s.content)
		case sectionStart:
			t.HasStart = true
			var start uint32
			start, err = out.startFunction(s.content)
			exports = append(exports, exportEntry{StartExport, externFunction, start})
		}
		if err != nil {
			return nil, err
		}
	}
	for _, s := range m.sections {
		if s.id != sectionCode {
			continue
		}
		if err := findHiddenState(s.content); err != nil {
			return nil, err
		}
	}
	t.Content = out.assembleTemplate(exports)
	return t, nil
}

// settableGlobals lists the mutable globals, without the fuel counter.
func (m *Module) settableGlobals() (indexes []uint32, err error) {
	fuel := int64(-1)
	for _, e := range m.exports {
		if e.kind == externGlobal && e.name == FuelExport {
			fuel = int64(e.index)
		}
	}
	for _, s := range m.sections {
		if s.id != sectionGlobal {
			continue
		}
		r := &reader{data: s.content}
		n := r.u32()
		for index := uint32(0); index < n && r.err == nil; index++ {
			typ, mutable := r.valueType(), r.byte() != 0
			r.expression(nil)
			switch {
			case !mutable || int64(index) == fuel:
			case typ == typeV128 || typ == typeFuncref || typ == typeExternref:
				return nil, fmt.Errorf("it has a mutable global of type %s", valueTypeName(typ))
			case len(indexes) == maxTemplateGlobals:
				return nil, fmt.Errorf("it has more than %d mutable globals", maxTemplateGlobals)
			default:
				indexes = append(indexes, index)
			}
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	return indexes, nil
}

// startFunction reads the start section. Errors that the engine finds are left to it.
func (m *Module) startFunction(content []byte) (uint32, error) {
	r := &reader{data: content}
	index := r.u32()
	r.end()
	if signature, ok := m.functionSignature(index); !ok || signature != (Signature{}) {
		r.fail("its start function is none")
	}
	return index, r.err
}

// initialMemory reads the data section. Segments that do not fit into the memory are left to the engine, which has an
// error for them. Passive ones have no use where no instruction names them.
func (m *Module) initialMemory(content []byte) ([]Segment, error) {
	if len(m.memories) != 1 {
		return nil, fmt.Errorf("it has %d memories", len(m.memories))
	}
	size := uint64(m.memories[0].min) * pageSize
	var segments []Segment
	r := &reader{data: content}
	n := r.u32()
	for _, s := range m.sections {
		if counted := (&reader{data: s.content}).u32(); s.id == sectionDataCount && counted != n {
			return nil, fmt.Errorf("it has %d data segments and counts %d", n, counted)
		}
	}
	for ; n > 0 && r.err == nil; n-- {
		const active, passive = 0, 1
		form := r.u32()
		if form == passive {
			r.bytes(r.u32())
			continue
		}
		if form != active || r.byte() != opI32Const {
			return nil, fmt.Errorf("a data segment has no constant offset")
		}
		offset, ok := r.s32()
		if !ok || r.byte() != opEnd {
			return nil, fmt.Errorf("a data segment has no constant offset")
		}
		s := Segment{uint32(offset), r.bytes(r.u32())}
		if uint64(s.Offset)+uint64(len(s.Bytes)) > size {
			return nil, fmt.Errorf("a data segment is outside of the memory")
		}
		segments = append(segments, s)
	}
	return segments, r.err
}

// assembleTemplate writes the sections that a template keeps.
func (m *Module) assembleTemplate(exports []exportEntry) []byte {
	out := []byte(header)
	for _, s := range m.sections {
		content := s.content
		switch s.id {
		case sectionData, sectionDataCount, sectionStart:
			continue
		case sectionExport:
			content = addExports(content, exports)
		}
		out = append(out, s.id)
		out = appendU32(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out
}

// addExports returns the export section with more entries.
func addExports(content []byte, more []exportEntry) []byte {
	r := &reader{data: content}
	out := appendU32(nil, uint64(r.u32())+uint64(len(more)))
	out = append(out, content[r.pos:]...)
	for _, e := range more {
		out = appendU32(out, uint64(len(e.name)))
		out = append(out, e.name...)
		out = append(out, e.kind)
		out = appendU32(out, uint64(e.index))
	}
	return out
}
