package binary

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Signature is the type of a function. Each byte of Params and Results is a value type as the binary format encodes it.
type Signature struct{ Params, Results string }

// String renders the type as "(i32, i32) → i32". It cuts long types off.
func (s Signature) String() string {
	list := func(types string) string {
		names := make([]string, len(types))
		for i := range len(types) {
			names[i] = valueTypeName(types[i])
		}
		return strings.Join(names, ", ")
	}
	text := "(" + list(s.Params) + ")"
	if s.Results != "" {
		text += " → " + list(s.Results)
	}
	return cut(text, 120)
}

// showName renders a name from an untrusted module: as it is if it is plain, else quoted, and never long.
func showName(name string) string {
	if len(name) > 64 {
		name = name[:64] + "…"
	}
	if quoted := strconv.Quote(name); name == "" || quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// cut shortens valid UTF-8 to at most limit bytes and a mark that some is missing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}
