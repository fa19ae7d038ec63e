package wasmtest

import (
	"encoding/binary"

	"github.com/cruster/cruster/abi"
)

// Function types of a [Module], by index.
const (
	TypeVoid    = 0 // () → ()
	TypeAnswer  = 1 // () → i32
	TypeTurn    = 2 // (i32) → i32
	TypePtrLen  = 3 // (i32, i32) → ()
	TypeOp      = 4 // (i32, i32) → i32
	TypePtr     = 5 // (i32) → ()
	TypeLog     = 6 // (i32, i32, i32) → ()
	TypeStrange = 7 // (i64) → ()
	TypeFour    = 8 // (i32, i32, i32, i32) → i32
	TypeClock   = 9 // (i32, i64, i32) → i32
)

// Module is a module put together by hand. Its zero value is a valid module that does nothing: version 1, no manifest,
// and turns that park.
type Module struct {
	Imports       []Import
	RawImports    [][]byte // imports that are not functions
	Omit          string   // an export to leave out
	Mistype       string   // an export to give the type () → () or, if it has that, () → i32
	Init          []byte   // code of _initialize; nil has none
	ABI           []byte
	Describe      []byte
	Start         []byte
	Resume        []byte
	Extra         []byte // code of a fifth function of type (i32) → i32, with index Self
	Pages         uint32
	Data          []byte // the memory from address 0 on
	DataSection   []byte // a data section, instead of Data
	DataCount     []byte // a data count section
	Elements      []byte // an element section
	Globals       []byte // a global section
	Table         []byte // a table section
	StartFunction bool   // make _initialize the start function of the module
	Main          bool   // export _start, as programs do
	NoCode        bool   // leave the code section out
	Locals        int    // how many i32 locals each function declares
}

// Import is a function that a module imports.
type Import struct {
	Module, Name string
	Type         byte
}

// Cruster imports a function of the host.
func Cruster(name string, typ byte) Import { return Import{abi.ImportModule, name, typ} }

// WASI imports a function of WASI preview 1.
func WASI(name string, typ byte) Import { return Import{"wasi_snapshot_preview1", name, typ} }

// I32Const is the instruction i32.const.
func I32Const(n int32) []byte {
	out := []byte{0x41}
	for {
		b := byte(n & 0x7f)
		n >>= 7
		if n == 0 && b&0x40 == 0 || n == -1 && b&0x40 != 0 {
			return append(out, b)
		}
		out = append(out, b|0x80)
	}
}

// Call is the instruction that calls a function.
func Call(index byte) []byte { return []byte{0x10, index} }

// Join puts parts one after the other.
func Join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Code of a function without its end.
var (
	Endless     = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b}       // loop br 0 end
	Unreachable = []byte{0x00}                               //
	GrowBomb    = []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, // loop (memory.grow 16)
		0x41, 0x7f, 0x46, 0x04, 0x40, 0x00, 0x0b, 0x0c, 0x00, 0x0b} // if it is -1: unreachable
)

// U32 encodes an unsigned number as LEB128.
func U32(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

// Vector encodes items and their number.
func Vector(items ...[]byte) []byte { return append(U32(len(items)), Join(items...)...) }

// String encodes a name.
func String(s string) []byte { return append(U32(len(s)), s...) }

// Section encodes a section.
func Section(id byte, content []byte) []byte {
	return Join([]byte{id}, U32(len(content)), content)
}

func or(code, otherwise []byte) []byte {
	if code != nil {
		return code
	}
	return otherwise
}

// Assemble encodes the module.
func (m Module) Assemble() []byte {
	var imports, functions, exports, bodies [][]byte
	for _, imp := range m.Imports {
		imports = append(imports, Join(String(imp.Module), String(imp.Name), []byte{0, imp.Type}))
	}
	base := len(imports)
	imports = append(imports, m.RawImports...)
	add := func(name string, typ byte, body []byte) {
		if name != "" && name == m.Mistype {
			typ, body = TypeVoid, nil
			if name == abi.ExportDescribe {
				typ, body = TypeAnswer, I32Const(0)
			}
		}
		if name != "" && name != m.Omit {
			exports = append(exports, Join(String(name), []byte{0}, U32(base+len(functions))))
		}
		functions = append(functions, []byte{typ})
		body = Join(m.declare(), body, []byte{0x0b})
		bodies = append(bodies, Join(U32(len(body)), body))
	}
	add(abi.ExportABI, TypeAnswer, or(m.ABI, I32Const(abi.Version)))
	add(abi.ExportDescribe, TypeVoid, m.Describe)
	add(abi.ExportStart, TypeTurn, or(m.Start, I32Const(1)))
	add(abi.ExportResume, TypeTurn, or(m.Resume, I32Const(1)))
	add("", TypeTurn, or(m.Extra, I32Const(0)))
	if m.Init != nil {
		add(abi.ExportInitialize, TypeVoid, m.Init)
	}
	if m.Main {
		add("_start", TypeVoid, nil)
	}
	if m.Omit != abi.ExportMemory {
		exports = append(exports, Join(String(abi.ExportMemory), []byte{2, 0}))
	}
	const i32 = 0x7f
	out := Join([]byte("\x00asm\x01\x00\x00\x00"),
		Section(1, Vector(
			[]byte{0x60, 0, 0},
			[]byte{0x60, 0, 1, i32},
			[]byte{0x60, 1, i32, 1, i32},
			[]byte{0x60, 2, i32, i32, 0},
			[]byte{0x60, 2, i32, i32, 1, i32},
			[]byte{0x60, 1, i32, 0},
			[]byte{0x60, 3, i32, i32, i32, 0},
			[]byte{0x60, 1, 0x7e, 0},
			[]byte{0x60, 4, i32, i32, i32, i32, 1, i32},
			[]byte{0x60, 3, i32, 0x7e, i32, 1, i32},
		)),
		Section(2, Vector(imports...)),
		Section(3, Vector(functions...)))
	if m.Table != nil {
		out = append(out, Section(4, m.Table)...)
	}
	out = append(out, Section(5, Vector(append([]byte{0}, U32(int(max(m.Pages, 1)))...)))...)
	if m.Globals != nil {
		out = append(out, Section(6, m.Globals)...)
	}
	out = append(out, Section(7, Vector(exports...))...)
	if m.StartFunction {
		out = append(out, Section(8, U32(base+len(functions)-1))...)
	}
	if m.NoCode {
		return out
	}
	if m.Elements != nil {
		out = append(out, Section(9, m.Elements)...)
	}
	if m.DataCount != nil {
		out = append(out, Section(12, m.DataCount)...)
	}
	out = append(out, Section(10, Vector(bodies...))...)
	if m.DataSection != nil {
		return append(out, Section(11, m.DataSection)...)
	}
	if m.Data != nil {
		out = append(out, Section(11, Vector(Join([]byte{0}, I32Const(0), []byte{0x0b}, U32(len(m.Data)), m.Data)))...)
	}
	return out
}

func (m Module) declare() []byte {
	if m.Locals == 0 {
		return []byte{0}
	}
	return Join([]byte{1}, U32(m.Locals), []byte{0x7f})
}

// Self is the index of the extra function in a module with this many imports.
func Self(imports int) byte { return byte(imports + 4) }

// Forking is a module that computes f(n) = f(n-1) + f(n-1) from a large n, after a call of log: it does not end, and
// there is no loop in it.
func Forking() []byte {
	half := Join([]byte{0x20, 0x00}, I32Const(1), []byte{0x6b}, Call(Self(1)))
	return Module{
		Imports: []Import{Cruster(abi.ImportLog, TypeLog)},
		Start:   Join(I32Const(0), I32Const(0), I32Const(0), Call(0), I32Const(80), Call(Self(1))),
		Extra:   Join([]byte{0x20, 0x00, 0x45, 0x04, 0x7f}, I32Const(1), []byte{0x05}, half, half, []byte{0x6a, 0x0b}),
	}.Assemble()
}
