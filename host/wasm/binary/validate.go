package binary

import (
	"fmt"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Rules are a host's rules for accepting modules.
type Rules struct {
	// Functions are the functions that a module may import, by "module.name".
	Functions map[string]Signature
}

// oneI32 is a list of value types with a single i32.
const oneI32 = string(rune(typeI32))

// requiredExports are the required and the optional functions of modules, with their types.
var requiredExports = []struct {
	name     string
	optional bool
	Signature
}{
	{abi.ExportInitialize, true, Signature{}},
	{abi.ExportABI, false, Signature{Results: oneI32}},
	{abi.ExportDescribe, false, Signature{}},
	{abi.ExportStart, false, Signature{oneI32, oneI32}},
	{abi.ExportResume, false, Signature{oneI32, oneI32}},
	{abi.ExportQuery, true, Signature{oneI32, oneI32}},
}

// Validate compares the module with the rules of a host. A violation is an *abi.Error:
// abi.CodeUnknownImport, abi.CodeMissingExport, abi.CodeModuleMemory (for its tables) or
// abi.CodeNotWasm. The memory is not compared with a limit: see [Module.CheckMemory].
func (m *Module) Validate(rules Rules) error {
	checks := []func(Rules) *abi.Error{m.checkImports, m.checkExports, m.checkTables}
	for _, check := range checks {
		if err := check(rules); err != nil {
			return err
		}
	}
	return nil
}

func (m *Module) checkImports(rules Rules) *abi.Error {
	for _, imp := range m.imports {
		name := showName(imp.module) + "." + showName(imp.name)
		switch imp.kind {
		case externTable:
			return abi.Errorf(
				abi.CodeUnknownImport, "the module imports the table %s; modules bring their own tables", name,
			)
		case externMemory:
			return abi.Errorf(
				abi.CodeUnknownImport, "the module imports the memory %s; modules bring their own memory", name,
			)
		case externGlobal:
			return abi.Errorf(
				abi.CodeUnknownImport, "the module imports the global %s; the host offers functions only", name,
			)
		}
		want, ok := rules.Functions[imp.module+"."+imp.name]
		if !ok {
			return abi.Errorf(abi.CodeUnknownImport, "the module imports %s, which this host does not offer", name)
		}
		got, ok := m.typeAt(imp.typeIndex)
		if !ok {
			return notWasm(fmt.Errorf("the import %s has no type", name))
		}
		if got != want {
			return abi.Errorf(abi.CodeUnknownImport, "the module imports %s as %s, but it is %s", name, got, want)
		}
	}
	return nil
}

func (m *Module) checkExports(Rules) *abi.Error {
	functions := make(map[string]uint32)
	memory := false
	for _, e := range m.exports {
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
		if got, ok := m.functionSignature(index); !ok || got != want.Signature {
			return abi.Errorf(
				abi.CodeMissingExport, "the module exports %s as %s, but it must be %s", want.name, got, want.Signature,
			)
		}
	}
	if !memory {
		return abi.Errorf(
			abi.CodeMissingExport, "the module does not export its memory under the name %s", abi.ExportMemory,
		)
	}
	return nil
}

// programEntry is exported by a program of WASI, and not by a library.
const programEntry = "_start"

// CheckLibrary refuses a module that was built as a program: it is not initialised before its main function runs, which
// no host calls. The *abi.Error has abi.CodeMissingExport. It is no part of Validate, since a module that a host has
// taken must stay runnable.
func (m *Module) CheckLibrary() error {
	exported := func(name string) bool {
		return slices.ContainsFunc(m.exports, func(e exportEntry) bool {
			return e.kind == externFunction && e.name == name
		})
	}
	if !exported(programEntry) || exported(abi.ExportInitialize) {
		return nil
	}
	return abi.Errorf(
		abi.CodeMissingExport, "the module is a program, not a library: it exports %s and not %s", programEntry,
		abi.ExportInitialize,
	).
		WithHint(
			"Go: build it with -buildmode=c-shared (GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared). Rust: " +
				"set crate-type = [\"cdylib\"] and build the library.",
		)
}

// MemoryFromTheStart is how many bytes of linear memory an instance has before it asks for more.
func (m *Module) MemoryFromTheStart() int64 {
	var pages int64
	for _, memory := range m.memories {
		pages = max(pages, int64(memory.min))
	}
	return pages * pageSize
}

// CheckMemory refuses a module whose instances have more memory from the start than limit bytes: an *abi.Error with
// abi.CodeModuleMemory. It is no part of Validate, because the limit is a setting of the host. A module that was
// accepted once must stay runnable when the operator lowers it.
func (m *Module) CheckMemory(limit int64) error {
	limit = limit / pageSize * pageSize
	if want := m.MemoryFromTheStart(); want > limit {
		return abi.Errorf(
			abi.CodeModuleMemory, "the module wants %d KiB of memory from the start, and this host allows %d KiB",
			want>>10, limit>>10,
		)
	}
	return nil
}

func (m *Module) checkTables(Rules) *abi.Error {
	if len(m.tables) > maxTables {
		return abi.Errorf(
			abi.CodeModuleMemory, "the module has %d tables, and this host allows %d", len(m.tables), maxTables,
		)
	}
	for _, t := range m.tables {
		if t.min > maxTableEntries {
			return abi.Errorf(
				abi.CodeModuleMemory, "the module has a table of %d entries, and this host allows %d", t.min,
				maxTableEntries,
			)
		}
	}
	return nil
}
