package binary

import (
	"cmp"
	"slices"
	"strings"
)

// Sizes is the composition of a binary. It is for people: it shows the large parts of a module.
type Sizes struct {
	// Code and Data are the bytes of these sections.
	Code, Data int
	// Parts is the code by Go packages or Rust crates, the largest first; nil if the binary does not name its
	// functions.
	Parts []Part
}

// A Part is the code of a package or a crate.
type Part struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
}

// otherPart is the part of functions whose names tell no package.
const otherPart = "(other)"

// Sizes adds up the code of the functions by their packages or crates. Names come from Go's own
// table of functions, which a program needs and no linker flag takes away, or else from the name
// section. Nothing in it is trusted: names that do not fit the functions of the module are as good
// as none.
func (m *Module) Sizes() Sizes {
	var s Sizes
	var bodies []int
	var names []string
	for _, section := range m.sections {
		switch section.id {
		case sectionCode:
			s.Code = len(section.content)
			bodies = bodySizes(section.content)
		case sectionData:
			s.Data = len(section.content)
			if segments, ok := readSegments(section.content); ok {
				names = goFunctions(segments, len(m.functions))
			}
		}
	}
	if names == nil {
		names = m.namedFunctions()
	}
	if names == nil {
		return s
	}
	byPart := map[string]int{}
	for i, size := range bodies {
		name := otherPart
		if i < len(names) {
			name = partOf(names[i])
		}
		byPart[name] += size
	}
	for name, size := range byPart {
		s.Parts = append(s.Parts, Part{name, size})
	}
	slices.SortFunc(s.Parts, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return s
}

// bodySizes is the sizes of the functions in a code section.
func bodySizes(content []byte) []int {
	r := &reader{data: content}
	var sizes []int
	for n := r.u32(); n > 0 && r.err == nil; n-- {
		sizes = append(sizes, len(r.bytes(r.u32())))
	}
	return sizes
}

// namedFunctions is the names in the name section of the functions that the module defines; nil if there are none.
func (m *Module) namedFunctions() []string {
	imported := uint32(0)
	for _, imp := range m.imports {
		if imp.kind == externFunction {
			imported++
		}
	}
	var names []string
	for _, s := range m.sections {
		if s.id != sectionCustom {
			continue
		}
		content := functionNames(s.content, func(index uint32) uint64 { return uint64(index) })
		if content == nil {
			continue
		}
		const before = 1 + len("name") + 1 // the name of the section, and the number of the subsection
		r := &reader{data: content, pos: before}
		r.u32()
		for n := r.u32(); n > 0 && r.err == nil; n-- {
			index, name := r.u32(), r.name()
			if i := int64(index) - int64(imported); i >= 0 && i < int64(len(m.functions)) {
				if names == nil {
					names = make([]string, len(m.functions))
				}
				names[i] = name
			}
		}
	}
	return names
}

// partOf is the Go package or the Rust crate of a function.
func partOf(function string) string {
	part := ""
	switch {
	case strings.HasPrefix(function, "_ZN"):
		part = mangledCrate(function)
	case strings.Contains(function, "::"):
		part = crateOf(function)
	default:
		part = packageOf(function)
	}
	if part == "" {
		return otherPart
	}
	return part
}

// packageOf is the package of a function in Go: the part before the first dot behind the last slash. Arguments of
// types have slashes too.
func packageOf(function string) string {
	for _, made := range []string{"type:.eq.", "type:.hash."} {
		function = strings.TrimPrefix(function, made)
	}
	function, _, _ = strings.Cut(function, "[")
	slash := strings.LastIndexByte(function, '/') + 1
	name, _, dot := strings.Cut(function[slash:], ".")
	if !dot || strings.Contains(name, ":") {
		return ""
	}
	return function[:slash] + name
}

// crateOf is the crate of a function in Rust, "core::fmt::write" or "<alloc::string::String as
// core::fmt::Write>::write_str".
func crateOf(function string) string {
	path := strings.TrimLeft(function, "<&*([ ")
	path = strings.TrimPrefix(strings.TrimPrefix(path, "mut "), "dyn ")
	crate, _, _ := strings.Cut(path, "::")
	crate, _, _ = strings.Cut(crate, "[") // the hash of the crate
	if strings.ContainsAny(crate, " <>&*();,") {
		return ""
	}
	return crate
}

// mangledCrate is the crate of a function whose name is _ZN, then length and text of each part of its path.
func mangledCrate(function string) string {
	rest, n := function[len("_ZN"):], 0
	for rest != "" && rest[0] >= '0' && rest[0] <= '9' && n < len(function) {
		n, rest = n*10+int(rest[0]-'0'), rest[1:]
	}
	if n == 0 || n > len(rest) {
		return ""
	}
	first := strings.NewReplacer("_$LT$", "<", "$LT$", "<", "$RF$", "&", "..", "::", "$u20$", " ").Replace(rest[:n])
	if strings.HasPrefix(first, "<") {
		return crateOf(first)
	}
	return first
}
