package symbolize

import (
	"strings"
	"unicode"
)

// Printable makes text of a guest safe to show: valid UTF-8 without control characters other than tab and newline.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return '.'
	}, s)
}

// OneLine is printable text of at most limit bytes on one line.
func OneLine(s string, limit int) string {
	s = strings.Join(strings.Fields(Printable(s)), " ")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
