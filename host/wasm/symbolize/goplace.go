package symbolize

import "github.com/cruster/cruster/host/wasm/binary"

// goPlace is a call as the author wrote it.
type goPlace struct {
	name     string
	position string // "orders/main.go:12"; empty if it is not known
	from     bool   // it is not at this position, but behind it
}

// String is the function with its line: "main.f (orders/main.go:12)". If the line is not known, it
// is the first line possible, which may be the function's: "main.f (from orders/main.go:10)".
func (f goPlace) String() string {
	switch {
	case f.position == "":
		return f.name
	case f.from:
		return f.name + " (from " + f.position + ")"
	}
	return f.name + " (" + f.position + ")"
}

// bogusLine is the line that Go gives the jump of an empty loop. Its beginning has the line of something else.
const bogusLine = 1

// stopped is the innermost call, as the check told that has found no fuel.
func (p *goProgram) stopped(function uint64, at binary.Place) goCall {
	if at.Behind > 0 && !at.Empty && p.valueAt(p.record(function)+recordLine, at.Behind) == bogusLine {
		at = binary.Place{}
	}
	return goCall{function: function, behind: at.Behind, after: at.After}
}
