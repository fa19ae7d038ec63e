package hostile

import (
	"encoding/binary"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Function types of assembled modules, by index.
const (
	typeVoid   byte = iota // () → ()
	typeAnswer             // () → i32
	typeTurn               // (i32) → i32
	typePtrLen             // (i32, i32) → ()
	typeOp                 // (i32, i32) → i32
)

const i32 = 0x7f

var functionTypes = [][]byte{
	{0x60, 0, 0},
	{0x60, 0, 1, i32},
	{0x60, 1, i32, 1, i32},
	{0x60, 2, i32, i32, 0},
	{0x60, 2, i32, i32, 1, i32},
}

// crafted is a module assembled by hand. Its zero value has all required exports,
// hands over the bytes of manifest, and parks in every turn.
type crafted struct {
	manifest []byte
	// outcome is what its turns hand over before they return.
	outcome []byte
	// start and describe, if set, are the code of these functions.
	start, describe []byte
	version         int32
	omit            string // an export to leave out
	imports         []craftedImport
	pages           int // of memory, in the beginning
	status          int32
}

type craftedImport struct {
	module, name string
	kind         []byte // how the import section describes it; nil is a function
	typ          byte
}

var (
	endlessLoop = []byte{0x03, 0x40, 0x0c, 0x00, 0x0b, 0x00} // loop br 0 end unreachable
	unreachable = []byte{0x00}
)

// honest is a manifest with one workflow, W.
func honest() []byte {
	return abi.MustMarshal(abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}})
}

// wellMade is a valid module; its workflow returns nil.
func wellMade() crafted {
	return crafted{manifest: honest(), outcome: abi.MustMarshal(abi.Outcome{Value: abi.Nil}), version: abi.Version, status: abi.StatusDone}
}

// Where the module keeps its bytes.
const manifestAt = 1024

// binary assembles the module.
func (c crafted) binary() []byte {
	imports := append([]craftedImport{{module: abi.ImportModule, name: abi.ImportOutput, typ: typePtrLen}}, c.imports...)
	functions := uint64(0)
	var importSection [][]byte
	for _, imp := range imports {
		kind := imp.kind
		if kind == nil {
			kind = []byte{0, imp.typ}
			functions++
		}
		importSection = append(importSection, slices.Concat(text(imp.module), text(imp.name), kind))
	}
	outcomeAt := manifestAt + len(c.manifest)
	turn := constant(c.status)
	if c.outcome != nil {
		turn = slices.Concat(constant(int32(outcomeAt)), constant(int32(len(c.outcome))), []byte{0x10, 0}, turn)
	}
	describe := slices.Concat(constant(manifestAt), constant(int32(len(c.manifest))), []byte{0x10, 0})
	var types, exports, bodies [][]byte
	for i, f := range []struct {
		name string
		typ  byte
		code []byte
	}{
		{abi.ExportABI, typeAnswer, constant(c.version)},
		{abi.ExportDescribe, typeVoid, or(c.describe, describe)},
		{abi.ExportStart, typeTurn, or(c.start, turn)},
		{abi.ExportResume, typeTurn, turn},
	} {
		types = append(types, []byte{f.typ})
		if f.name != c.omit {
			exports = append(exports, slices.Concat(text(f.name), []byte{0}, number(functions+uint64(i))))
		}
		body := slices.Concat([]byte{0}, f.code, []byte{0x0b})
		bodies = append(bodies, slices.Concat(number(uint64(len(body))), body))
	}
	if c.omit != abi.ExportMemory {
		exports = append(exports, slices.Concat(text(abi.ExportMemory), []byte{2, 0}))
	}
	data := slices.Concat(c.manifest, c.outcome)
	pages := max(c.pages, (manifestAt+len(data))>>16+1)
	segment := slices.Concat([]byte{0}, constant(manifestAt), []byte{0x0b}, number(uint64(len(data))), data)
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, list(functionTypes...)),
		section(2, list(importSection...)),
		section(3, list(types...)),
		section(5, list(slices.Concat([]byte{0}, number(uint64(pages))))),
		section(7, list(exports...)),
		section(10, list(bodies...)),
		section(11, list(segment)))
}

func or(code, otherwise []byte) []byte {
	if code != nil {
		return code
	}
	return otherwise
}

func number(n uint64) []byte { return binary.AppendUvarint(nil, n) }

func text(s string) []byte { return append(number(uint64(len(s))), s...) }

func list(items ...[]byte) []byte {
	return append(number(uint64(len(items))), slices.Concat(items...)...)
}

func section(id byte, content []byte) []byte {
	return slices.Concat([]byte{id}, number(uint64(len(content))), content)
}

// constant is the instruction i32.const n.
func constant(n int32) []byte {
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
