package guestsql

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"
)

// LIKE and GLOB. SQLite's own take time in proportion to the product of the lengths of text and pattern and cannot be
// interrupted. These take as long, but can be interrupted. They match the same texts as SQLite's; an index on the
// column is not used for them.

const maxPattern = 256

var (
	errPattern = errors.New("LIKE or GLOB pattern too complex")
	errEscape  = errors.New("ESCAPE expression must be a single character")
)

// element is a piece of a pattern.
type element struct {
	kind   elementKind
	char   rune
	set    []rune // pairs: from, to
	except bool   // the set lists excluded characters
}

type elementKind int

const (
	theChar elementKind = iota
	anyChar
	oneOf
	anyText
	nothing // matches no text at all
)

func (e *element) matches(r rune) bool {
	switch e.kind {
	case theChar:
		return e.char == r
	case oneOf:
		in := false
		for pair := range slices.Chunk(e.set, 2) {
			in = in || pair[0] <= r && r <= pair[1]
		}
		return in != e.except
	}
	return e.kind == anyChar
}

func (b *Sandbox) like(args []sqlite.Value) (sqlite.Value, error) {
	if anyNull(args) {
		return sqlite.Value{}, nil
	}
	escape := rune(-1)
	if len(args) == 3 {
		text := args[2].Text()
		if utf8.RuneCountInString(text) != 1 {
			return sqlite.Value{}, errEscape
		}
		escape, _ = utf8.DecodeRuneInString(text)
	}
	pattern := args[0].Text()
	if len(pattern) > maxPattern {
		return sqlite.Value{}, errPattern
	}
	return b.match(likeElements(cString(pattern), escape), cString(args[1].Text()), lowerASCII)
}

func (b *Sandbox) glob(args []sqlite.Value) (sqlite.Value, error) {
	if anyNull(args) {
		return sqlite.Value{}, nil
	}
	pattern := args[0].Text()
	if len(pattern) > maxPattern {
		return sqlite.Value{}, errPattern
	}
	return b.match(globElements([]rune(cString(pattern))), cString(args[1].Text()), func(r rune) rune { return r })
}

// cString ends at a zero byte, as texts in C do.
func cString(s string) string {
	s, _, _ = strings.Cut(s, "\x00")
	return s
}

func lowerASCII(r rune) rune {
	if 'A' <= r && r <= 'Z' {
		return r + ('a' - 'A')
	}
	return r
}

func likeElements(pattern string, escape rune) []element {
	var out []element
	escaped := false
	for _, r := range pattern {
		switch {
		case escaped:
			escaped = false
			out = append(out, element{char: lowerASCII(r)})
		case r == escape:
			escaped = true
		case r == '%':
			out = append(out, element{kind: anyText})
		case r == '_':
			out = append(out, element{kind: anyChar})
		default:
			out = append(out, element{char: lowerASCII(r)})
		}
	}
	if escaped {
		out = append(out, element{kind: nothing})
	}
	return out
}

func globElements(pattern []rune) []element {
	var out []element
	for len(pattern) > 0 {
		r := pattern[0]
		pattern = pattern[1:]
		switch r {
		case '*':
			out = append(out, element{kind: anyText})
		case '?':
			out = append(out, element{kind: anyChar})
		case '[':
			var e element
			e, pattern = setElement(pattern)
			out = append(out, e)
		default:
			out = append(out, element{char: r})
		}
	}
	return out
}

// setElement reads the set after a bracket. An unclosed one matches nothing.
func setElement(pattern []rune) (element, []rune) {
	e := element{kind: oneOf}
	if len(pattern) > 0 && pattern[0] == '^' {
		e.except, pattern = true, pattern[1:]
	}
	for first := true; len(pattern) > 0; first = false {
		r := pattern[0]
		switch {
		case r == ']' && !first:
			return e, pattern[1:]
		case len(pattern) > 2 && pattern[1] == '-' && pattern[2] != ']':
			e.set = append(e.set, r, pattern[2])
			pattern = pattern[3:]
		default:
			e.set = append(e.set, r, r)
			pattern = pattern[1:]
		}
	}
	return element{kind: nothing}, nil
}

// match goes back to the last anyText only: an earlier one need not take more.
func (b *Sandbox) match(pattern []element, text string, fold func(rune) rune) (sqlite.Value, error) {
	at, p := 0, 0
	backAt, backP := 0, -1
	for steps := 0; ; steps++ {
		if steps&0xffff == 0xffff && b.isStopped() {
			return sqlite.Value{}, errInterrupted
		}
		if p < len(pattern) && pattern[p].kind == anyText {
			p++
			backAt, backP = at, p
			continue
		}
		if at == len(text) {
			return boolean(p == len(pattern)), nil
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case p < len(pattern) && pattern[p].matches(fold(r)):
			at, p = at+size, p+1
		case backP == len(pattern):
			return boolean(true), nil
		case backP >= 0:
			_, size := utf8.DecodeRuneInString(text[backAt:])
			backAt += size
			at, p = backAt, backP
		default:
			return boolean(false), nil
		}
	}
}

func boolean(b bool) sqlite.Value {
	if b {
		return sqlite.IntegerValue(1)
	}
	return sqlite.IntegerValue(0)
}
