package wasm

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Section ids and external kinds of the Wasm binary format.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionExport    = 7
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

// layout is as much of a module as can be told from its sections without
// looking into the code. It is read before the engine sees the module, so that
// what the host does not want is refused cheaply and with a clear reason; all
// that is left unread here is validated by the engine.
type layout struct {
	sections  []section
	types     []signature
	imports   []importEntry
	functions []uint32 // type indexes of the functions the module defines
	tables    []table
	memories  []limits
	exports   []exportEntry
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
		item = func() { l.tables = append(l.tables, table{r.byte(), r.limits()}) }
	case sectionMemory:
		item = func() { l.memories = append(l.memories, r.limits()) }
	case sectionExport:
		item = func() { l.exports = append(l.exports, exportEntry{r.name(), r.byte(), r.u32()}) }
	default:
		return nil
	}
	for n := r.u32(); n > 0 && r.err == nil; n-- {
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

// sectionReader reads the primitives of the binary format. The first failure
// sticks, and everything read after it is zero.
type sectionReader struct {
	data []byte
	pos  int
	err  error
}

func (r *sectionReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
	r.pos = len(r.data)
}

func (r *sectionReader) byte() byte {
	if r.pos >= len(r.data) {
		r.fail("it ends too early")
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *sectionReader) u32() uint32 {
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			if v > math.MaxUint32 {
				break
			}
			return uint32(v)
		}
	}
	r.fail("a number has more than 32 bits")
	return 0
}

func (r *sectionReader) bytes(n uint32) []byte {
	if int64(n) > int64(len(r.data)-r.pos) {
		r.fail("it ends too early")
		return nil
	}
	b := r.data[r.pos : r.pos+int(n) : r.pos+int(n)]
	r.pos += int(n)
	return b
}

func (r *sectionReader) name() string {
	b := r.bytes(r.u32())
	if !utf8.Valid(b) {
		r.fail("a name is not UTF-8")
		return ""
	}
	return string(b)
}

func (r *sectionReader) functionType() signature {
	if form := r.byte(); form != 0x60 {
		r.fail("a type of form %#x is not a function type", form)
		return signature{}
	}
	return signature{params: string(r.bytes(r.u32())), results: string(r.bytes(r.u32()))}
}

func (r *sectionReader) importEntry() importEntry {
	e := importEntry{module: r.name(), name: r.name(), kind: r.byte()}
	switch e.kind {
	case externFunction:
		e.typeIndex = r.u32()
	case externTable:
		r.byte()
		r.limits()
	case externMemory:
		r.limits()
	case externGlobal:
		r.byte()
		r.byte()
	default:
		r.fail("an import of unknown kind %d", e.kind)
	}
	return e
}

func (r *sectionReader) limits() limits {
	switch flag := r.byte(); flag {
	case 0:
		return limits{min: r.u32()}
	case 1:
		return limits{min: r.u32(), max: r.u32(), hasMax: true}
	default:
		r.fail("limits of unknown form %#x", flag)
		return limits{}
	}
}
