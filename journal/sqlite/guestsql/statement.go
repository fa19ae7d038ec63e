package guestsql

import (
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// CheckActivity refuses a statement that activities may not begin with.
func CheckActivity(sql string) error {
	switch word := firstWord(sql); {
	case changesOrReadsRows(word):
		return nil
	case word == "":
		return abi.Errorf(abi.CodeSQLForbidden, "there is no statement in the text")
	default:
		if meant := abi.DidYouMean(word, rowStatements); meant != "" {
			return abi.Errorf(abi.CodeSQLForbidden, "%s is not a known statement%s", word, meant).WithHint(
				"Correct the statement.",
			)
		}
		return abi.Errorf(abi.CodeSQLForbidden, "%s statements are not for activities", word)
	}
}

// CheckMigration returns the Mode of a statement of a migration, by its first word.
func CheckMigration(sql string) (Mode, error) {
	switch word := firstWord(sql); {
	case changesOrReadsRows(word):
		return Rows, nil
	case word == "CREATE", word == "DROP":
		return Definition, checkKind(sql)
	case word == "ALTER":
		return Alteration, nil
	default:
		meant := abi.DidYouMean(word, append([]string{"CREATE", "DROP", "ALTER"}, rowStatements...))
		return 0, abi.Errorf(
			abi.CodeSQLForbidden, "%q is not the beginning of a statement that migrations may use%s", word, meant,
		)
	}
}

// checkKind refuses a CREATE or DROP of objects that modules cannot have. The authorizer would, in words that are about
// a table.
func checkKind(sql string) error {
	tokens := scan(SkipBlank(sql, true))
	if len(tokens) < 2 {
		return nil
	}
	switch kind := tokens[1]; {
	case kind.is("trigger"):
		return abi.Errorf(abi.CodeSQLForbidden, "triggers are not for modules")
	case kind.is("virtual"):
		return abi.Errorf(abi.CodeSQLForbidden, "virtual tables are not for modules")
	case kind.is("temp"), kind.is("temporary"):
		return abi.Errorf(abi.CodeSQLForbidden, "temporary tables and views are not for modules")
	}
	return nil
}

// CheckDefinition refuses definitions that name tables of SQLite or Cruster. The authorizer cannot tell such a name
// from SQLite's own accesses to its schema tables, and is not asked about the body of a view at all. SQLite's
// identifiers have no escapes, so a name that is used stands in the text.
func CheckDefinition(text string) error {
	if len(text) > maxDefinitionBytes {
		return abi.Errorf(
			abi.CodeSQLForbidden, "a definition has %d bytes, and %d are allowed", len(text), maxDefinitionBytes,
		)
	}
	lower := strings.ToLower(text)
	for _, word := range []string{"cruster_", "sqlite_", "goose", "pragma_"} {
		if strings.Contains(lower, word) {
			return abi.Errorf(abi.CodeSQLForbidden, "names with %q are not for modules", word)
		}
	}
	return nil
}

// SkipBlank cuts white space, comments and, if told so, semicolons off the front of sql.
func SkipBlank(sql string, semicolons bool) string {
	for {
		switch {
		case strings.HasPrefix(sql, "--"):
			_, rest, _ := strings.Cut(sql, "\n")
			sql = rest
		case strings.HasPrefix(sql, "/*"):
			// SQLite takes an unfinished comment to reach to the end.
			_, rest, _ := strings.Cut(sql[2:], "*/")
			sql = rest
		case sql != "" && strings.IndexByte(" \t\n\r\f", sql[0]) >= 0, semicolons && strings.HasPrefix(sql, ";"):
			sql = sql[1:]
		default:
			return sql
		}
	}
}

// firstWord is the first keyword of a statement, in upper case.
func firstWord(sql string) string {
	sql = SkipBlank(sql, true)
	end := 0
	for end < len(sql) && (sql[end]|0x20 >= 'a' && sql[end]|0x20 <= 'z') {
		end++
	}
	return strings.ToUpper(sql[:end])
}

// rowStatements begin statements that change or read rows.
var rowStatements = []string{"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "VALUES"}

func changesOrReadsRows(word string) bool { return slices.Contains(rowStatements, word) }
