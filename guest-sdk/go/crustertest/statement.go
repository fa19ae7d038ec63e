package crustertest

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// rowStatements begin the statements that activities may run.
var rowStatements = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES", "TABLE", "MERGE", "REPLACE"}

// quotes are how comments and quoted texts begin and end.
var quotes = []struct{ open, end string }{{"--", "\n"}, {"/*", "*/"}, {"'", "'"}, {`"`, `"`}, {"`", "`"}, {"[", "]"}}

// checkStatement refuses, as a host does for any database, a text that is not one statement, and
// statements that do not read or change rows.
func checkStatement(sql string) *abi.Error {
	parts := statements(sql)
	switch {
	case len(parts) == 0:
		return abi.Errorf(abi.CodeSQLForbidden, "there is no statement in the text")
	case len(parts) > 1:
		return abi.Errorf(abi.CodeSQLForbidden, "a call runs one statement; there is more behind the first")
	}
	word := strings.ToUpper(parts[0])
	if end := strings.IndexFunc(word, func(c rune) bool { return c < 'A' || c > 'Z' }); end >= 0 {
		word = word[:end]
	}
	if !slices.Contains(rowStatements, word) {
		if meant := abi.DidYouMean(word, rowStatements); meant != "" {
			return abi.Errorf(abi.CodeSQLForbidden, "%s is not a known statement%s", word, meant).WithHint(
				"Correct the statement.",
			)
		}
		return abi.Errorf(abi.CodeSQLForbidden, "%s statements are not for activities", word)
	}
	return nil
}

// statements takes a text apart at its semicolons. Comments become blank, and empty statements are
// left out.
func statements(sql string) []string {
	var parts []string
	var part strings.Builder
	end := func() {
		if text := strings.TrimSpace(part.String()); text != "" {
			parts = append(parts, text)
		}
		part.Reset()
	}
	for sql != "" {
		n := token(sql)
		switch text := sql[:n]; {
		case text == ";":
			end()
		case strings.HasPrefix(text, "--"), strings.HasPrefix(text, "/*"):
			part.WriteByte(' ')
		default:
			part.WriteString(text)
		}
		sql = sql[n:]
	}
	end()
	return parts
}

// token returns the length of the first token of sql: a comment, a quoted text, a word, a parameter
// or a byte.
func token(sql string) int {
	for _, q := range quotes {
		if !strings.HasPrefix(sql, q.open) {
			continue
		}
		if i := strings.Index(sql[len(q.open):], q.end); i >= 0 {
			return len(q.open) + i + len(q.end)
		}
		return len(sql)
	}
	if tag := dollarQuote.FindString(sql); tag != "" {
		if i := strings.Index(sql[len(tag):], tag); i >= 0 {
			return len(tag) + i + len(tag)
		}
	}
	n := 1
	if isWord(sql[0]) || strings.ContainsRune("$?:@", rune(sql[0])) {
		for n < len(sql) && isWord(sql[n]) {
			n++
		}
	}
	return n
}

// dollarQuote is how a text of Postgres may begin, and end.
var dollarQuote = regexp.MustCompile(`^\$([A-Za-z_][A-Za-z_0-9]*)?\$`)

// isWord tells whether a byte is part of a name, as SQLite sees it.
func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
