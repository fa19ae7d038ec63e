package sqlite

import (
	"regexp"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal/sqlite/guestsql"
)

// numbered is how SQLite tells columns of the same name apart in a subquery.
var numbered = regexp.MustCompile(`:[0-9]+$`)

// columnNames are the names of a result's columns.
//
// The handle forgets the name of a column if a later one has the same, as the ids of two joined tables do. As a
// subquery SQLite numbers such names, so the missing ones are read off the statement wrapped into another one. That
// works for queries; where it does not, the columns stay nameless.
func (s *Store) columnNames(stmt *sqlite.Stmt, query guestsql.Renamed) []string {
	names := make([]string, stmt.ColumnCount())
	for i := range names {
		names[i] = query.Column(stmt.ColumnName(i))
	}
	if !slices.Contains(names, "") {
		return names
	}
	text := strings.TrimRight(query.Text, "; \t\r\n")
	wrapped, trailing, err := s.writer.PrepareTransient("SELECT * FROM (" + text + "\n)")
	if err != nil {
		return names
	}
	defer func() { _ = wrapped.Finalize() }()
	if trailing != 0 || wrapped.ColumnCount() != len(names) {
		return names
	}
	for i := range names {
		base := query.Column(numbered.ReplaceAllString(wrapped.ColumnName(i), ""))
		if names[i] == "" && slices.Contains(names, base) {
			names[i] = base
		}
	}
	return names
}
