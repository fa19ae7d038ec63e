package wasm_test

import (
	"encoding/binary"

	"github.com/cruster/cruster/abi"
)

// Types of the tiny modules, by index.
const (
	typeVoid    = 0 // () → ()
	typeAnswer  = 1 // () → i32
	typeTurn    = 2 // (i32) → i32
	typePtrLen  = 3 // (i32, i32) → ()
	typeOp      = 4 // (i32, i32) → i32
	typePtr     = 5 // (i32) → ()
	typeLog     = 6 // (i32, i32, i32) → ()
	typeStrange = 7 // (i64) → ()
	typeFour    = 8 // (i32, i32, i32, i32) → i32
)

// tiny is a module put together by hand. Its zero value is a module that does
// nothing well: version 1, an empty manifest, and turns that park.
type tiny struct {
	imports  []tinyImport
	rawImps  [][]byte // imports that are not functions
	omit     string   // an export to leave out
	mistype  string   // an export to give the type () → () or, if it has that, () → i32
	init     []byte   // code of _initialize; nil has none
	abi      []byte
	describe []byte
	start    []byte
	resume   []byte
	extra    []byte // code of a fifth function of type (i32) → i32, with index self
	pages    uint32
	table    []byte // a table section
	startFn  bool   // make _initialize the start function of the module
	noCode   bool   // leave the code section out
	locals   int    // how many i32 locals each function declares
}

type tinyImport struct {
	module, name string
	typ          byte
}

func cruster(name string, typ byte) tinyImport { return tinyImport{abi.ImportModule, name, typ} }

// Instructions.
func i32Const(n int32) []byte {
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

func call(index byte) []byte { return []byte{0x10, index} }

func code(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

var (
	endless     = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b}       // loop br 0 end
	unreachable = []byte{0x00}                               //
	growBomb    = []byte{0x03, 0x40, 0x41, 0x10, 0x40, 0x00, // loop (memory.grow 16)
		0x41, 0x7f, 0x46, 0x04, 0x40, 0x00, 0x0b, 0x0c, 0x00, 0x0b} // if it is -1: unreachable
)

func leb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func vec(items ...[]byte) []byte { return append(leb(len(items)), code(items...)...) }

func str(s string) []byte { return append(leb(len(s)), s...) }

func sect(id byte, content []byte) []byte {
	return code([]byte{id}, leb(len(content)), content)
}

func or(code, otherwise []byte) []byte {
	if code != nil {
		return code
	}
	return otherwise
}

// assemble encodes the module.
func (m tiny) assemble() []byte {
	var imports, functions, exports, bodies [][]byte
	for _, imp := range m.imports {
		imports = append(imports, code(str(imp.module), str(imp.name), []byte{0, imp.typ}))
	}
	base := len(imports)
	imports = append(imports, m.rawImps...)
	add := func(name string, typ byte, body []byte) {
		if name != "" && name == m.mistype {
			typ, body = typeVoid, nil
			if name == abi.ExportDescribe {
				typ, body = typeAnswer, i32Const(0)
			}
		}
		if name != "" && name != m.omit {
			exports = append(exports, code(str(name), []byte{0}, leb(base+len(functions))))
		}
		functions = append(functions, []byte{typ})
		body = code(m.declare(), body, []byte{0x0b})
		bodies = append(bodies, code(leb(len(body)), body))
	}
	add(abi.ExportABI, typeAnswer, or(m.abi, i32Const(abi.Version)))
	add(abi.ExportDescribe, typeVoid, m.describe)
	add(abi.ExportStart, typeTurn, or(m.start, i32Const(1)))
	add(abi.ExportResume, typeTurn, or(m.resume, i32Const(1)))
	add("", typeTurn, or(m.extra, i32Const(0)))
	if m.init != nil {
		add(abi.ExportInitialize, typeVoid, m.init)
	}
	if m.omit != abi.ExportMemory {
		exports = append(exports, code(str(abi.ExportMemory), []byte{2, 0}))
	}
	const i32 = 0x7f
	out := code([]byte("\x00asm\x01\x00\x00\x00"),
		sect(1, vec(
			[]byte{0x60, 0, 0},
			[]byte{0x60, 0, 1, i32},
			[]byte{0x60, 1, i32, 1, i32},
			[]byte{0x60, 2, i32, i32, 0},
			[]byte{0x60, 2, i32, i32, 1, i32},
			[]byte{0x60, 1, i32, 0},
			[]byte{0x60, 3, i32, i32, i32, 0},
			[]byte{0x60, 1, 0x7e, 0},
			[]byte{0x60, 4, i32, i32, i32, i32, 1, i32},
		)),
		sect(2, vec(imports...)),
		sect(3, vec(functions...)))
	if m.table != nil {
		out = append(out, sect(4, m.table)...)
	}
	out = append(out, sect(5, vec(append([]byte{0}, leb(int(max(m.pages, 1)))...)))...)
	out = append(out, sect(7, vec(exports...))...)
	if m.startFn {
		out = append(out, sect(8, leb(base+len(functions)-1))...)
	}
	if m.noCode {
		return out
	}
	return append(out, sect(10, vec(bodies...))...)
}

func (m tiny) declare() []byte {
	if m.locals == 0 {
		return []byte{0}
	}
	return code([]byte{1}, leb(m.locals), []byte{0x7f})
}

// self is the index of the extra function in a module with this many imports.
func self(imports int) byte { return byte(imports + 4) }

// forking is a module that computes f(n) = f(n-1) + f(n-1) from a large n, after
// a call of log: it does not end, and there is no loop in it.
func forking() []byte {
	half := code([]byte{0x20, 0x00}, i32Const(1), []byte{0x6b}, call(self(1)))
	return tiny{
		imports: []tinyImport{cruster(abi.ImportLog, typeLog)},
		start:   code(i32Const(0), i32Const(0), i32Const(0), call(0), i32Const(80), call(self(1))),
		extra:   code([]byte{0x20, 0x00, 0x45, 0x04, 0x7f}, i32Const(1), []byte{0x05}, half, half, []byte{0x6a, 0x0b}),
	}.assemble()
}
