package guestsql

import (
	"strings"
	"unicode/utf8"

	"github.com/cruster/cruster/abi"
)

// MaxLen bounds the SQL text that is read, in bytes.
const MaxLen = 1 << 20

type kind int

const (
	word   kind = iota // an identifier or keyword without quotes
	quoted             // an identifier in double quotes
	text               // a string of any form
	number             // a number, or a parameter such as $1
	symbol             // one byte of anything else
)

// token is a piece of SQL that means something: not a comment and not white space.
type token struct {
	kind kind
	// name is the identifier without quotes in lower case, or the symbol. Postgres lowers ASCII letters only, and
	// SQLite compares no others.
	name       string
	start, end int // where it stands in the text
	escaped    bool
}

func (t *token) is(name string) bool { return t.kind != text && t.kind != quoted && t.name == name }

// identifier tells whether t may name something.
func (t *token) identifier() bool { return t.kind == word || t.kind == quoted }

type lexer struct {
	sql    string
	pos    int
	tokens []token
}

// scan reads the whole text. Its errors are *abi.Error.
func scan(sql string) ([]token, error) {
	if len(sql) > MaxLen {
		return nil, refuse("the SQL is longer than %d bytes", MaxLen)
	}
	if !utf8.ValidString(sql) || strings.IndexByte(sql, 0) >= 0 {
		return nil, refuse("the SQL is not text in UTF-8")
	}
	l := &lexer{sql: sql}
	for l.pos < len(sql) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	return l.tokens, nil
}

func refuse(format string, args ...any) *abi.Error {
	return abi.Errorf(abi.CodeSQLForbidden, format, args...)
}

// peek is the byte n behind the current one, or 0 at the end: the text holds no zero bytes.
func (l *lexer) peek(n int) byte {
	if l.pos+n < len(l.sql) {
		return l.sql[l.pos+n]
	}
	return 0
}

func (l *lexer) add(k kind, name string, end int) *token {
	l.tokens = append(l.tokens, token{kind: k, name: name, start: l.pos, end: end})
	l.pos = end
	return &l.tokens[len(l.tokens)-1]
}

func (l *lexer) next() error {
	c := l.sql[l.pos]
	switch {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
		l.pos++
		return nil
	case c == '-' && l.peek(1) == '-':
		return l.lineComment()
	case c == '/' && l.peek(1) == '*':
		return l.blockComment()
	case c == '\'':
		return l.plainString()
	case c == '"':
		return l.quotedName()
	case c == '`':
		// A quote for SQLite, an operator for Postgres.
		return refuse("backticks are not allowed; write names in double quotes")
	case c == '$':
		return l.dollar()
	case isDigit(c), c == '.' && isDigit(l.peek(1)):
		return l.number()
	case isWordStart(c):
		return l.word()
	}
	l.add(symbol, string(c), l.pos+1)
	return nil
}

func (l *lexer) lineComment() error {
	end := strings.IndexByte(l.sql[l.pos:], '\n')
	if end < 0 {
		end = len(l.sql) - l.pos
	}
	comment := l.sql[l.pos : l.pos+end]
	// Postgres ends the comment at a carriage return, SQLite does not.
	if i := strings.IndexByte(comment, '\r'); i >= 0 && i != len(comment)-1 {
		return refuse("a comment holds a carriage return")
	}
	l.pos += end
	return nil
}

func (l *lexer) blockComment() error {
	end := strings.Index(l.sql[l.pos+2:], "*/")
	if end < 0 {
		return refuse("a comment is not closed")
	}
	// Postgres nests comments, SQLite does not.
	if strings.Contains(l.sql[l.pos+2:l.pos+2+end], "/*") {
		return refuse("comments within comments are not allowed")
	}
	l.pos += 2 + end + 2
	return nil
}

// closing finds the end of a quoted piece whose quote may be doubled inside.
func (l *lexer) closing(from int, quote byte) (int, bool) {
	for i := from; i < len(l.sql); i++ {
		if l.sql[i] != quote {
			continue
		}
		if i+1 < len(l.sql) && l.sql[i+1] == quote {
			i++
			continue
		}
		return i + 1, true
	}
	return 0, false
}

func (l *lexer) plainString() error {
	end, ok := l.closing(l.pos+1, '\'')
	if !ok {
		return refuse("a string is not closed")
	}
	// Postgres reads 'b' in E'a' 'b' (on two lines) with escapes like 'a'.
	if n := len(l.tokens); n > 0 && l.tokens[n-1].escaped {
		return refuse("a string follows an E'…' string directly; write them as one")
	}
	l.add(text, "", end)
	return nil
}

// escapedString reads E'…', at whose letter the lexer stands.
func (l *lexer) escapedString() error {
	for i := l.pos + 2; i < len(l.sql); i++ {
		switch l.sql[i] {
		case '\\':
			// SQLite would read \' as the end of the string.
			if i+1 < len(l.sql) && l.sql[i+1] == '\'' {
				return refuse(`\' is not allowed in strings; write ''`)
			}
			i++
		case '\'':
			if i+1 < len(l.sql) && l.sql[i+1] == '\'' {
				i++
				continue
			}
			l.add(text, "", i+1).escaped = true
			return nil
		}
	}
	return refuse("a string is not closed")
}

func (l *lexer) quotedName() error {
	end, ok := l.closing(l.pos+1, '"')
	if !ok {
		return refuse("a name in double quotes is not closed")
	}
	name := strings.ReplaceAll(l.sql[l.pos+1:end-1], `""`, `"`)
	l.add(quoted, lower(name), end)
	return nil
}

// dollar reads a parameter ($1), or a string in dollar quotes ($tag$…$tag$).
func (l *lexer) dollar() error {
	i := l.pos + 1
	if isDigit(l.peek(1)) {
		for i < len(l.sql) && isDigit(l.sql[i]) {
			i++
		}
		if i < len(l.sql) && isWordPart(l.sql[i]) {
			return refuse("there is something unreadable behind the parameter %s", l.sql[l.pos:i])
		}
		l.add(number, l.sql[l.pos:i], i)
		return nil
	}
	for i < len(l.sql) && isWordPart(l.sql[i]) && l.sql[i] != '$' {
		i++
	}
	if i >= len(l.sql) || l.sql[i] != '$' {
		return refuse("a dollar sign begins neither a parameter such as $1 nor a quoted string")
	}
	tag := l.sql[l.pos : i+1]
	end := strings.Index(l.sql[i+1:], tag)
	if end < 0 {
		return refuse("a string in dollar quotes is not closed")
	}
	l.add(text, "", i+1+end+len(tag))
	return nil
}

// number reads a literal. Older versions of Postgres take 1e5name for a number and a name. No module needs that, and it
// hides the name.
func (l *lexer) number() error {
	i := l.pos
	digits := func(ok func(byte) bool) {
		for i < len(l.sql) && (ok(l.sql[i]) || l.sql[i] == '_') {
			i++
		}
	}
	if l.sql[i] == '0' && (l.peek(1) == 'x' || l.peek(1) == 'X') {
		i += 2
		digits(func(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' })
	} else {
		digits(isDigit)
		if i < len(l.sql) && l.sql[i] == '.' {
			i++
			digits(isDigit)
		}
		if i < len(l.sql) && l.sql[i]|0x20 == 'e' {
			j := i + 1
			if j < len(l.sql) && (l.sql[j] == '+' || l.sql[j] == '-') {
				j++
			}
			if j < len(l.sql) && isDigit(l.sql[j]) {
				i = j
				digits(isDigit)
			}
		}
	}
	if i < len(l.sql) && isWordPart(l.sql[i]) {
		return refuse("there is something unreadable behind the number %s", l.sql[l.pos:i])
	}
	l.add(number, "", i)
	return nil
}

func (l *lexer) word() error {
	switch c := l.sql[l.pos] | 0x20; {
	case c == 'e' && l.peek(1) == '\'':
		return l.escapedString()
	case c == 'u' && l.peek(1) == '&' && (l.peek(2) == '\'' || l.peek(2) == '"'):
		return refuse("U& escapes are not allowed; write the characters themselves")
	}
	i := l.pos + 1
	for i < len(l.sql) && isWordPart(l.sql[i]) {
		i++
	}
	l.add(word, lower(l.sql[l.pos:i]), i)
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWordStart(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c >= 0x80
}

func isWordPart(c byte) bool { return isWordStart(c) || isDigit(c) || c == '$' }

// lower lowers ASCII letters only.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + ('a' - 'A')
		}
		return r
	}, s)
}
