package binary

import "fmt"

// Rewrite returns the binary that the engine compiles instead of the upload. A
// guest does not notice the difference, except that the NaNs it computes have the
// same bits on every processor (nans.go).
//
// Two things that a guest can do are out of the engine's reach: running for long
// without a check whether it is to be stopped (insertChecks), and growing tables
// on the host's heap (boundTables). Two more changes save time and exposure: data
// segments are merged (mergeSegments), and of the custom sections only function
// names are kept (functionNames).
//
// Code that the engine could not compile in reasonable time is an *abi.Error of
// abi.CodeNotWasm.
func (m *Module) Rewrite() ([]byte, error) {
	out, err := m.rewrite()
	if err != nil {
		return nil, notWasm(err)
	}
	return out, nil
}

func (m *Module) rewrite() ([]byte, error) {
	size := len(header)
	for _, s := range m.sections {
		size += len(s.content) + 6
	}
	out := make([]byte, 0, size+size/16)
	out = append(out, header...)
	for _, s := range m.sections {
		content, err := m.rewriteSection(s)
		if err != nil {
			return nil, fmt.Errorf("section %d: %w", s.id, err)
		}
		if s.id == sectionCustom && content == nil {
			continue
		}
		out = append(out, s.id)
		out = appendU32(out, uint64(len(content)))
		out = append(out, content...)
	}
	return out, nil
}

// rewriteSection returns the new content of a section; nil drops a custom one.
func (m *Module) rewriteSection(s section) ([]byte, error) {
	switch s.id {
	case sectionCustom:
		return functionNames(s.content), nil
	case sectionTable:
		return boundTables(m.tables), nil
	case sectionCode:
		return insertChecks(m, s.content)
	case sectionData:
		return mergeSegments(m, s.content), nil
	}
	return s.content, nil
}
