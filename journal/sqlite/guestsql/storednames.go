package guestsql

import (
	"strings"
	"unicode/utf8"
)

// Tables of all namespaces lie in one file, and SQLite has one room for the names of a file. So that each namespace
// has names of its own, as on Postgres, a table, view or index of namespace N is stored as "name@N": "orders" of
// staging is "orders@staging". Names of one namespace, the plain one, are stored as they are.
//
// The statements of modules are told nothing of it: rename.go writes the stored names into them.
// The authorizer does not depend on that: it allows the tables that the namespace owns, and to make
// such as have its mark. A mistake in the renaming can fail a statement, and cannot have it reach
// another's tables.
const mark = "@"

// suffixOf returns the suffix of a namespace's names.
func (b *Sandbox) suffixOf(namespace string) string {
	if namespace == b.plain {
		return ""
	}
	return mark + namespace
}

// suffix returns the suffix of the names of the present statement's namespace.
func (b *Sandbox) suffix() string { return b.suffixOf(b.namespace) }

// mayBeMade tells whether a namespace may make something of a stored name.
func (b *Sandbox) mayBeMade(namespace, stored string) bool {
	name, marked := strings.CutSuffix(Fold(stored), Fold(b.suffixOf(namespace)))
	return marked && name != "" && !strings.Contains(name, mark)
}

// stored is the name under which a table or view of the namespace is stored; false if it is stored
// under its plain name, made before namespaces had names of their own, or if there is none. If
// another namespace has a table that is stored so, the name is not that: it names a missing table.
func (b *Sandbox) stored(name string) (string, bool) {
	stored := name + b.suffix()
	if owner, known := b.owners[Fold(name)]; known {
		return stored, owner != b.namespace
	}
	_, known := b.owners[Fold(stored)]
	return stored, known
}

// maxCalled bounds the messages that are looked at. A longer one quotes a statement at length;
// while it is looked at no one else writes.
const maxCalled = 2 << 10

// Called has a text of SQLite, about the last statement that was confined, speak of tables as the module calls them.
func (b *Sandbox) Called(message string) string {
	suffix := b.suffix()
	if suffix == "" || len(message) > maxCalled || !strings.Contains(message, suffix) {
		return message
	}
	names := b.storedNames()
	var out strings.Builder
	for {
		before, after, found := strings.Cut(message, suffix)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if !isStoredName(names, out.String(), after) {
			out.WriteString(suffix)
		}
		message = after
	}
}

// storedNames returns the names, folded and without their suffix, of the namespace's tables and of
// the last statement.
func (b *Sandbox) storedNames() map[string]bool {
	names := map[string]bool{}
	for stored, owner := range b.owners {
		if name, marked := strings.CutSuffix(stored, Fold(b.suffix())); marked && owner == b.namespace {
			names[name] = true
		}
	}
	for _, e := range b.renamed.edits {
		if name, marked := strings.CutSuffix(e.with, b.suffix()+`"`); marked {
			names[Fold(strings.ReplaceAll(name[1:], `""`, `"`))] = true
		}
	}
	return names
}

// At maps a byte of the compiled statement to the line and column, both from 1, of the module's
// statement.
func (b *Sandbox) At(offset int) (line, column int) {
	before := b.renamed.sql[:min(b.renamed.before(offset), len(b.renamed.sql))]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}

// UseOf is a statement that uses a view, which is stored so. It is called as Rename is.
func (b *Sandbox) UseOf(stored string) string {
	sql := "SELECT 1 FROM " + quoteName(stored)
	b.renamed = Renamed{Text: sql, sql: sql}
	return sql
}

// isStoredName tells whether the suffix stands, between two parts of a message, behind one of the names, or behind the
// words by which SQLite introduces a table or an index. Other text is the module's own.
func isStoredName(names map[string]bool, before, after string) bool {
	if after != "" && (isLetter(after[0]) || isDigit(after[0]) || after[0] == '-' || after[0] == mark[0]) {
		return false // of a longer name
	}
	for _, kind := range []string{"no such table: ", "index '"} {
		if i := strings.LastIndex(before, kind); i >= 0 && !strings.ContainsAny(before[i+len(kind):], `'"`) {
			return true
		}
	}
	folded := Fold(before)
	for name := range names {
		rest, is := strings.CutSuffix(folded, name)
		if is && (rest == "" || !isLetter(rest[len(rest)-1]) && !isDigit(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

// quoteName makes a name safe inside SQL.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
