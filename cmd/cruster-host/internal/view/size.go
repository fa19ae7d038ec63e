package view

import (
	"fmt"
	"strings"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
	"github.com/cruster/cruster/host/wasm/binary"
)

const (
	// largeModule is the size from which on a hint gives a remedy. The SDK in Go alone takes half
	// of it.
	largeModule = 9_000_000
	// shownParts is how many causes are shown.
	shownParts = 3
)

// ModuleSize is the JSON of the large parts of a module.
type ModuleSize struct {
	Bytes int `json:"bytes"`
	Code  int `json:"code"`
	Data  int `json:"data"`
	// Largest are the packages or crates with the most code; nil if the module does not name its functions.
	Largest []binary.Part `json:"largest,omitempty"`
	Hint    string        `json:"hint,omitempty"`
}

// SizeOf returns the large parts of a module; nil if it is no module.
func SizeOf(module []byte) *ModuleSize {
	parsed, err := binary.Parse(module)
	if err != nil {
		return nil // the host reports its mistake
	}
	sizes := parsed.Sizes()
	s := &ModuleSize{Bytes: len(module), Code: sizes.Code, Data: sizes.Data}
	uses := map[string]bool{}
	for _, p := range sizes.Parts {
		uses[p.Name] = true
		// Every module in Go has it.
		if p.Name != "runtime" && len(s.Largest) < shownParts {
			s.Largest = append(s.Largest, p)
		}
	}
	if s.Bytes >= largeModule {
		s.Hint = sizeHint(uses, sizes.Parts != nil)
	}
	return s
}

// sizeHint returns the remedy for a large module.
func sizeHint(uses map[string]bool, named bool) string {
	switch {
	case !named:
		return "Build it with the names of its functions (Rust: CARGO_PROFILE_RELEASE_STRIP=none, C: without -s) to " +
			"see what makes it large."
	case uses["net/http"]:
		return "net/http brings TLS along, which a module never uses: ctx.HTTP() does without. See docs/libraries.md."
	case uses["database/sql"]:
		return "database/sql is not needed for SQL: ctx.Tx() does without. See docs/libraries.md."
	default:
		return "See docs/libraries.md for what libraries cost."
	}
}

// String says it for people, in a line.
func (s *ModuleSize) String() string {
	text := fmt.Sprintf(
		"%s (code %s, data %s)", terminal.Bytes(int64(s.Bytes)), terminal.Bytes(int64(s.Code)),
		terminal.Bytes(int64(s.Data)),
	)
	var causes []string
	for _, p := range s.Largest {
		causes = append(causes, terminal.OneLine(terminal.Clip(p.Name, 80))+" "+terminal.Bytes(int64(p.Bytes)))
	}
	if len(causes) == 0 {
		return text + "; it does not name its functions"
	}
	return text + ": " + strings.Join(causes, ", ")
}

// lines are the lines of a table of names and values.
func (s *ModuleSize) lines() []terminal.Line {
	if s == nil {
		return nil
	}
	return []terminal.Line{{Name: "size", Value: s.String()}, {Name: "hint", Value: s.Hint}}
}
