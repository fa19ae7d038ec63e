package binary

import (
	"fmt"
	"slices"
)

// Rewrite returns the binary that the engine compiles instead of the upload. A guest does not notice the difference,
// except that the NaNs it computes have the same bits on every processor (nans.go).
//
// Two things that a guest can do are out of the engine's reach: running for long without a check whether it is to be
// stopped (fuel.go), and growing tables on the host's heap (boundTables). Three more changes save time, memory and
// exposure: data segments are merged (mergeSegments), large tables are filled on demand (ondemand.go), and of the
// custom sections only function names are kept (functionNames).
//
// Code that we do not know, or that the engine could not compile in reasonable time, is an *abi.Error of
// abi.CodeNotWasm.
func (m *Module) Rewrite() ([]byte, error) {
	out, err := m.rewrite()
	if err != nil {
		return nil, notWasm(err)
	}
	return out, nil
}

func (m *Module) rewrite() ([]byte, error) {
	w := &rewriter{Module: m, shift: func(function uint32) uint64 { return uint64(function) }}
	sections, size := m.sections, len(header)
	if m.hasCode {
		w.fuel = m.fuelIndexes()
		w.helpers = newHelpers(m, w.fuel)
		w.shift = w.fuel.shift
		if w.onDemand = m.tableOnDemand(w.fuel.end); w.onDemand != nil {
			w.helpers.needEntries(w.onDemand)
		}
		if err := w.fuel.checkNames(m); err != nil {
			return nil, err
		}
		sections = withSections(sections, sectionType, sectionImport, sectionGlobal, sectionExport)
	}
	// The code comes first: it decides which functions are added.
	contents := make([][]byte, len(sections))
	rewrite := func(of func(id byte) bool) error {
		for i, s := range sections {
			if of(s.id) {
				content, err := w.rewriteSection(s)
				if err != nil {
					return fmt.Errorf("section %d: %w", s.id, err)
				}
				contents[i], size = content, size+len(content)+6
			}
		}
		return nil
	}
	if err := rewrite(func(id byte) bool { return id == sectionCode }); err != nil {
		return nil, err
	}
	if err := rewrite(func(id byte) bool { return id != sectionCode }); err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, size), header...)
	for i, s := range sections {
		if s.id == sectionCustom && contents[i] == nil {
			continue
		}
		out = append(out, s.id)
		out = appendU32(out, uint64(len(contents[i])))
		out = append(out, contents[i]...)
	}
	return out, nil
}

// rewriter is the state shared by the sections of a module during a rewrite.
type rewriter struct {
	*Module
	shift   func(function uint32) uint64 // to its new number
	fuel    fuelIndexes
	helpers *helpers // nil if there is no code
	// onDemand is the table, if it is filled on demand.
	onDemand *onDemand
}

// rewriteSection returns the new content of a section; nil drops a custom one.
func (w *rewriter) rewriteSection(s section) ([]byte, error) {
	switch s.id {
	case sectionCustom:
		return functionNames(s.content, w.shift), nil
	case sectionTable:
		return boundTables(w.ownTables()), nil
	case sectionData:
		return mergeSegments(w.Module, s.content), nil
	case sectionExport:
		return w.rewriteExports(), nil
	}
	if w.helpers == nil {
		return s.content, nil
	}
	switch s.id {
	case sectionType:
		return addTypes(s.content), nil
	case sectionImport:
		return w.addImport(s.content), nil
	case sectionFunction:
		return w.addFunctions(s.content), nil
	case sectionGlobal:
		return w.addGlobal(s.content)
	case sectionStart:
		return w.shiftStart(s.content)
	case sectionElement:
		if w.onDemand != nil {
			return w.declareElements(), nil
		}
		return w.shiftElements(s.content)
	case sectionCode:
		return w.rewriteCode(s.content)
	}
	return s.content, nil
}

// sectionOrder is the order in which sections stand in a binary.
var sectionOrder = []byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal,
	sectionExport, sectionStart, sectionElement, sectionDataCount, sectionCode, sectionData,
}

// withSections returns sections that include the given ids: empty ones where there are none.
func withSections(sections []section, ids ...byte) []section {
	sections = slices.Clone(sections)
	for _, id := range ids {
		if slices.ContainsFunc(sections, func(s section) bool { return s.id == id }) {
			continue
		}
		rank := slices.Index(sectionOrder, id)
		at := slices.IndexFunc(sections, func(s section) bool { return slices.Index(sectionOrder, s.id) > rank })
		if at < 0 {
			at = len(sections)
		}
		sections = slices.Insert(sections, at, section{id, []byte{0}})
	}
	return sections
}
