package guestsql

import "strings"

type kind int

const (
	word   kind = iota // without quotes: a name or a keyword
	quoted             // a name in quotes
	text               // a string, which SQLite takes for a name where nothing else can stand
	other              // a number, a parameter, or one byte of anything else
)

// token is a piece of SQL that means something: not a comment and not white space.
type token struct {
	kind kind
	// name is its content, without quotes and as it is spelled.
	name       string
	start, end int // where it stands in the text
}

// is tells whether t is a keyword, in lower case, or a symbol.
func (t token) is(keyword string) bool {
	return (t.kind == word || t.kind == other) && equalFold(t.name, keyword)
}

func (t token) isOneOf(keywords map[string]bool) bool {
	return t.kind == word && keywords[Fold(t.name)]
}

// mayName tells whether t can name a table.
func (t token) mayName() bool { return t.kind != other && !t.isOneOf(reserved) }

// reserved are the keywords that SQLite does not take for names.
var reserved = setOf(
	`add all alter and as autoincrement between case check collate commit constraint create default deferrable
	delete distinct
	drop else escape except exists foreign from group having in index insert intersect into is isnull join limit
	not nothing notnull null on or order
	primary references returning select set table then to transaction union unique update using values when where`,
)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// byteOrderMark is white space to SQLite, unless it stands in a name.
const byteOrderMark = "\ufeff"

// scan reads the first statement of sql, without the semicolon behind it. It follows SQLite's tokenizer as far as
// names, strings and comments go. Text that it refuses, an unfinished string for example, reaches to the end and names
// nothing.
func scan(sql string) (tokens []token) {
	sql, _, _ = strings.Cut(sql, "\x00") // which ends the text for SQLite, wherever it stands
	for pos := 0; pos < len(sql); {
		c := sql[pos]
		t := token{kind: other, start: pos}
		switch {
		case strings.IndexByte(" \t\n\r\f", c) >= 0:
			pos++
			continue
		case strings.HasPrefix(sql[pos:], byteOrderMark):
			pos += len(byteOrderMark)
			continue
		case strings.HasPrefix(sql[pos:], "--"):
			pos = endOf(sql, pos, "\n")
			continue
		case strings.HasPrefix(sql[pos:], "/*"):
			pos = endOf(sql, pos+2, "*/")
			continue
		case c == ';':
			return tokens
		case c == '\'' || c == '"' || c == '`' || c == '[':
			t = quotedAt(sql, pos)
		case isLetter(c):
			t.kind, t.end = word, endOfName(sql, pos)
			if t.end < len(sql) && sql[t.end] == '\'' && equalFold(sql[pos:t.end], "x") {
				t.kind, t.end = other, quotedAt(sql, t.end).end // x'00': bytes
			}
			t.name = sql[pos:t.end]
		case isDigit(c):
			t.end = endOfNumber(sql, pos)
			t.name = sql[pos:t.end]
		case strings.IndexByte("?:@#$", c) >= 0:
			t.end = endOfName(sql, pos+1)
			t.name = sql[pos:t.end]
		default:
			t.name, t.end = sql[pos:pos+1], pos+1
		}
		tokens, pos = append(tokens, t), t.end
	}
	return tokens
}

// endOf is the position behind the next mark, or the end of the text.
func endOf(sql string, from int, mark string) int {
	if from > len(sql) {
		return len(sql)
	}
	if i := strings.Index(sql[from:], mark); i >= 0 {
		return from + i + len(mark)
	}
	return len(sql)
}

// quotedAt is the text in quotes at pos. A quote in it is written twice, but in brackets there is none.
func quotedAt(sql string, pos int) token {
	t := token{kind: quoted, start: pos}
	quote, doubles := sql[pos], true
	switch quote {
	case '\'':
		t.kind = text
	case '[':
		quote, doubles = ']', false
	}
	for t.end = pos + 1; t.end < len(sql); t.end++ {
		if sql[t.end] != quote {
			continue
		}
		if !doubles || t.end+1 == len(sql) || sql[t.end+1] != quote {
			t.name = sql[pos+1 : t.end]
			if doubles {
				t.name = strings.ReplaceAll(t.name, string([]byte{quote, quote}), string([]byte{quote}))
			}
			t.end++
			return t
		}
		t.end++
	}
	return token{kind: other, start: pos, end: len(sql)} // it does not end
}

func endOfName(sql string, pos int) int {
	for pos < len(sql) && (isLetter(sql[pos]) || isDigit(sql[pos]) || sql[pos] == '$') {
		pos++
	}
	return pos
}

func endOfNumber(sql string, pos int) int {
	for pos < len(sql) && (isLetter(sql[pos]) || isDigit(sql[pos]) || sql[pos] == '.') {
		pos++
	}
	return pos
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= 0x80 }
