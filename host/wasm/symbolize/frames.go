package symbolize

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cruster/cruster/host/wasm/binary"
)

// maxShownFrames bounds how many functions the message about a guest that was stopped names.
const maxShownFrames = 5

// Stop is all that is known of a guest that was stopped, or has crashed. The engine keeps memory and globals of an
// instance whose call failed, so its stack is as it was.
type Stop struct {
	// Backtrace is the engine's.
	Backtrace string
	// Memory is the guest's memory.
	Memory []byte
	// Globals are the values of the mutable ones.
	Globals []uint64
	// Imported is how many functions the module imports.
	Imported uint64
	// At is where it was refused fuel.
	At binary.Place
	// LastCall is the guest's own report of its last call, if it has one.
	LastCall string
}

// Where says where the guest was: " (in main.count (orders/main.go:57) < main.orders
// (orders/main.go:30))". For a Go program it comes from its own table of functions; for others from
// the name section of the module, if it has one, and from the guest's own report. It is empty if
// nothing is known.
func (s *Stop) Where() string {
	functions := functionsOf(s.Backtrace)
	if frames := s.goFrames(functions); len(frames) > 0 {
		return " (in " + strings.Join(frames, " < ") + ")"
	}
	var parts []string
	if frames := namedFrames(functions); len(frames) > 0 {
		parts = append(parts, "in "+strings.Join(frames, " < "))
	}
	if s.LastCall != "" {
		parts = append(parts, s.LastCall)
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// functionsOf is the functions of a backtrace by their names, or by "$" and their numbers, innermost
// first.
func functionsOf(backtrace string) (functions []string) {
	for line := range strings.Lines(backtrace) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), "(")
		if name = strings.TrimPrefix(name, "."); ok && name != "" {
			functions = append(functions, name)
		}
	}
	return functions
}

// goFrames is the calls of the author's functions in a Go program; none if it is no such program.
func (s *Stop) goFrames(functions []string) (frames []string) {
	program, ok := findGoProgram(s.Memory)
	if !ok || len(s.Globals) == 0 {
		return nil
	}
	innermost, ok := program.innermost(functions, s.Imported)
	if !ok {
		return nil
	}
	// The first global of a Go program is the pointer of its stack, the third the goroutine that runs.
	global := func(n int) uint64 {
		if n >= len(s.Globals) {
			return 0
		}
		return s.Globals[n] & 0xffffffff
	}
	call := program.stopped(innermost, s.At)
	if frames = program.authorFrames(program.stack(call, global(0))); len(frames) > 0 {
		return frames
	}
	if call, pointer, ok := program.waiting(global(2)); ok {
		frames = program.authorFrames(program.stack(call, pointer))
	}
	if len(frames) > 0 {
		return frames
	}
	// The engine knows the caller of the runtime, though not at which line.
	calls := make([]goCall, 0, len(functions))
	for _, name := range slices.Compact(functions) {
		function, ok := program.numbered(name, s.Imported)
		if !ok && isAuthors(name) {
			function, ok = program.find([]string{name})
		}
		if ok {
			calls = append(calls, goCall{function: function})
		}
	}
	return program.authorFrames(calls)
}

// authorFrames shows those calls that are of the author's functions; of a function that calls itself, one. Libraries
// may call each other deeply: the innermost call of the package main is always shown, as the last if need be.
func (p *goProgram) authorFrames(calls []goCall) (frames []string) {
	inMain := false
	for _, call := range calls {
		if inMain && len(frames) == maxShownFrames {
			return frames
		}
		for _, f := range p.frames(call) {
			frame, isMain := OneLine(f.String(), 120), strings.HasPrefix(f.name, "main.")
			switch {
			case !isAuthors(f.name) || len(frames) > 0 && frames[len(frames)-1] == frame:
			case len(frames) < maxShownFrames:
				frames = append(frames, frame)
				inMain = inMain || isMain
			case isMain && !inMain:
				frames[maxShownFrames-1] = frame
				return frames
			}
		}
	}
	return frames
}

// numbered returns the function with a backtrace's number, which counts imports too.
func (p *goProgram) numbered(name string, imported uint64) (function uint64, ok bool) {
	number, unnamed := strings.CutPrefix(name, "$")
	n, err := strconv.ParseUint(number, 10, 32)
	if !unnamed || err != nil || n < imported || n-imported >= p.count {
		return 0, false
	}
	return n - imported, true
}

// innermost finds the first function of a backtrace that is the program's own; the call of the host for
// fuel is not.
func (p *goProgram) innermost(functions []string, imported uint64) (uint64, bool) {
	for i, name := range functions {
		number, ok := p.numbered(name, imported)
		if !ok {
			continue
		}
		if function, ok := p.find(functions[:i]); ok {
			return function, true
		}
		return number, true
	}
	return p.find(functions)
}

// foreignNames begin the names of functions that are not the author's: unnamed functions, internal ones,
// exports and imports.
var foreignNames = []string{"$", "__", "cruster_", "cruster:", "wasi_"}

// namedFrames is the author's functions in a module that has their names. Functions without a crate are the
// author's unless it is a program in Rust: there they belong to the C library. A function that calls
// itself, or its closure, is shown once.
func namedFrames(functions []string) (frames []string) {
	rust := slices.ContainsFunc(functions, isRustSymbol)
	for _, symbol := range functions {
		name := OneLine(rustName(symbol), 120)
		authors := isRustAuthors(name)
		if !rust {
			authors = !slices.ContainsFunc(foreignNames, func(begin string) bool {
				return strings.HasPrefix(name, begin)
			})
		}
		if authors && name != "" && len(frames) < maxShownFrames && !slices.Contains(frames, name) {
			frames = append(frames, name)
		}
	}
	return frames
}
