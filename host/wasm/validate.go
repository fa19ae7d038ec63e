package wasm

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
)

// Bounds on tables. The engine keeps a table in the host's memory, eight bytes
// an entry, where the memory limit of an instance does not reach.
const (
	maxTables       = 16
	maxTableEntries = 1 << 17
)

const (
	typesNone = ""
	typesI32  = string(rune(api.ValueTypeI32))
)

// requiredExports are the functions every module has, and _initialize which it
// may have, with their types.
var requiredExports = []struct {
	name     string
	optional bool
	signature
}{
	{abi.ExportInitialize, true, signature{typesNone, typesNone}},
	{abi.ExportABI, false, signature{typesNone, typesI32}},
	{abi.ExportDescribe, false, signature{typesNone, typesNone}},
	{abi.ExportStart, false, signature{typesI32, typesI32}},
	{abi.ExportResume, false, signature{typesI32, typesI32}},
}

// validate holds a binary against what this host takes, before the engine sees
// it.
func (r *Runtime) validate(binary []byte) (*layout, *abi.Error) {
	if int64(len(binary)) > r.cfg.MaxModuleSize {
		return nil, abi.Errorf(abi.CodeModuleTooLarge, "the module has %d bytes, and this host takes at most %d", len(binary), r.cfg.MaxModuleSize)
	}
	l, err := readLayout(binary)
	if err != nil {
		return nil, abi.Errorf(abi.CodeNotWasm, "the upload is not a WebAssembly module: %s", oneLine(err.Error(), 200))
	}
	for _, check := range []func(*layout) *abi.Error{r.checkImports, r.checkExports, r.checkMemory, r.checkTables} {
		if err := check(l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func (r *Runtime) checkImports(l *layout) *abi.Error {
	for _, imp := range l.imports {
		name := showName(imp.module) + "." + showName(imp.name)
		switch imp.kind {
		case externTable:
			return abi.Errorf(abi.CodeUnknownImport, "the module imports the table %s; modules bring their own tables", name)
		case externMemory:
			return abi.Errorf(abi.CodeUnknownImport, "the module imports the memory %s; modules bring their own memory", name)
		case externGlobal:
			return abi.Errorf(abi.CodeUnknownImport, "the module imports the global %s; the host offers functions only", name)
		}
		want, ok := r.offered[imp.module+"."+imp.name]
		if !ok {
			return abi.Errorf(abi.CodeUnknownImport, "the module imports %s, which this host does not offer", name)
		}
		got, ok := l.typeAt(imp.typeIndex)
		if !ok {
			return abi.Errorf(abi.CodeNotWasm, "the upload is not a WebAssembly module: the import %s has no type", name)
		}
		if got != want {
			return abi.Errorf(abi.CodeUnknownImport, "the module imports %s as %s, but it is %s", name, got, want)
		}
	}
	return nil
}

func (r *Runtime) checkExports(l *layout) *abi.Error {
	functions := make(map[string]uint32)
	memory := false
	for _, e := range l.exports {
		switch {
		case e.kind == externFunction:
			functions[e.name] = e.index
		case e.kind == externMemory && e.name == abi.ExportMemory:
			memory = true
		}
	}
	for _, want := range requiredExports {
		index, ok := functions[want.name]
		if !ok {
			if want.optional {
				continue
			}
			return abi.Errorf(abi.CodeMissingExport, "the module does not export the function %s", want.name)
		}
		if got, ok := l.functionSignature(index); !ok || got != want.signature {
			return abi.Errorf(abi.CodeMissingExport, "the module exports %s as %s, but it must be %s", want.name, got, want.signature)
		}
	}
	if !memory {
		return abi.Errorf(abi.CodeMissingExport, "the module does not export its memory under the name %s", abi.ExportMemory)
	}
	return nil
}

func (r *Runtime) checkMemory(l *layout) *abi.Error {
	limit := r.cfg.MemoryLimit / pageSize
	for _, m := range l.memories {
		if int64(m.min) > limit {
			return abi.Errorf(abi.CodeModuleMemory, "the module wants %d KiB of memory from the start, and this host allows %d KiB", int64(m.min)*(pageSize>>10), limit*(pageSize>>10))
		}
	}
	return nil
}

func (r *Runtime) checkTables(l *layout) *abi.Error {
	if len(l.tables) > maxTables {
		return abi.Errorf(abi.CodeModuleMemory, "the module has %d tables, and this host allows %d", len(l.tables), maxTables)
	}
	for _, t := range l.tables {
		if t.min > maxTableEntries {
			return abi.Errorf(abi.CodeModuleMemory, "the module has a table of %d entries, and this host allows %d", t.min, maxTableEntries)
		}
	}
	return nil
}

// importNames lists what a module imports, sorted and without repetition.
func (l *layout) importNames() []string {
	var names []string
	for _, imp := range l.imports {
		names = append(names, imp.module+"."+imp.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String renders the type as (i32, i32) → i32.
func (s signature) String() string {
	list := func(types string) string {
		var names []string
		for i := range len(types) {
			names = append(names, api.ValueTypeName(types[i]))
		}
		return strings.Join(names, ", ")
	}
	text := "(" + list(s.params) + ")"
	if s.results != "" {
		text += " → " + list(s.results)
	}
	return oneLine(text, 120)
}

// showName renders a name of a hostile module: as it is if it is plain, else
// quoted, and never long.
func showName(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	if quoted := strconv.Quote(name); name == "" || quoted != `"`+name+`"` {
		return quoted
	}
	return name
}
