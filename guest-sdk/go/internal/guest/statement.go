package guest

import (
	"strings"
	"unicode"
)

// MayWrite tells whether a statement may change something: it does unless it begins, behind
// comments, like a read.
func MayWrite(query string) bool {
	query = skipComments(query)
	end := strings.IndexFunc(query, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(query)
	}
	switch strings.ToUpper(query[:end]) {
	case "SELECT", "VALUES":
		return false
	}
	return true
}

// skipComments skips everything before the first word: comments, white space, parentheses.
func skipComments(query string) string {
	for {
		query = strings.TrimLeft(query, " \t\r\n(")
		var end string
		switch {
		case strings.HasPrefix(query, "--"):
			end = "\n"
		case strings.HasPrefix(query, "/*"):
			end = "*/"
		default:
			return query
		}
		_, rest, found := strings.Cut(query[2:], end)
		if !found {
			return ""
		}
		query = rest
	}
}
