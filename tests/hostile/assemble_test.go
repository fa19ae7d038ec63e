package hostile

import (
	"slices"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/binary/wasmtest"
)

// crafted is a module assembled by hand. Its zero value has all required exports, hands over the bytes of manifest, and
// parks in every turn.
type crafted struct {
	manifest []byte
	// outcome is the output that its turns hand over before they return.
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

// endlessLoop never comes to its end, which needs no result then.
var endlessLoop = wasmtest.Join(wasmtest.Endless, wasmtest.Unreachable)

// honest is a manifest with one workflow, W.
func honest() []byte {
	return abi.MustMarshal(abi.Manifest{Workflows: []abi.WorkflowInfo{{Name: "W", Key: abi.KeyFromRequest}}})
}

// wellMade is a valid module; its workflow returns nil.
func wellMade() crafted {
	return crafted{
		manifest: honest(),
		outcome:  abi.MustMarshal(abi.Outcome{Value: abi.Nil}),
		version:  abi.Version,
		status:   abi.StatusDone,
	}
}

// binary assembles the module.
func (c crafted) binary() []byte {
	m := wasmtest.Module{
		Imports: []wasmtest.Import{wasmtest.Cruster(abi.ImportOutput, wasmtest.TypePtrLen)},
		Omit:    c.omit, ABI: wasmtest.I32Const(c.version), Start: c.start, Describe: c.describe,
		Data: slices.Concat(c.manifest, c.outcome),
	}
	for _, imp := range c.imports {
		if imp.kind != nil {
			m.RawImports = append(
				m.RawImports, slices.Concat(wasmtest.String(imp.module), wasmtest.String(imp.name), imp.kind),
			)
			continue
		}
		m.Imports = append(m.Imports, wasmtest.Import{Module: imp.module, Name: imp.name, Type: imp.typ})
	}
	output := func(at, n int) []byte {
		return wasmtest.Join(wasmtest.I32Const(int32(at)), wasmtest.I32Const(int32(n)), wasmtest.Call(0))
	}
	turn := wasmtest.I32Const(c.status)
	if c.outcome != nil {
		turn = wasmtest.Join(output(len(c.manifest), len(c.outcome)), turn)
	}
	if m.Describe == nil {
		m.Describe = output(0, len(c.manifest))
	}
	if m.Start == nil {
		m.Start = turn
	}
	m.Resume = turn
	m.Pages = uint32(max(c.pages, len(m.Data)>>16+1))
	return m.Assemble()
}
