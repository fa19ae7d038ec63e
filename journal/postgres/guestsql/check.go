package guestsql

import (
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// CheckStatement refuses a statement of an activity that is not exactly one query or change of data, or that uses
// features that modules may not. Its errors are *abi.Error of abi.CodeSQLForbidden.
func CheckStatement(sql string) error {
	tokens, err := scan(sql)
	if err != nil {
		return err
	}
	parts := split(tokens)
	switch len(parts) {
	case 0:
		return refuse("there is no statement")
	case 1:
	default:
		return refuse("there are %d statements; send one at a time", len(parts))
	}
	if first := keyword(parts[0]); !slices.Contains(dataKeywords, first) {
		if meant := abi.DidYouMean(first, dataKeywords); meant != "" {
			return refuse("a statement cannot begin with %s%s", shown(first), meant).WithHint("Correct the statement.")
		}
		return refuse("a statement cannot begin with %s here", shown(first)).
			WithHint("Activities may SELECT, INSERT, UPDATE, DELETE and MERGE; define tables in migrations; the host " +
				"begins and ends transactions.")
	}
	return checkTokens(parts[0])
}

// SplitMigration takes the text of a migration apart into its statements, without the semicolons between them.
func SplitMigration(sql string) ([]string, error) {
	tokens, err := scan(sql)
	if err != nil {
		return nil, err
	}
	var statements []string
	for _, part := range split(tokens) {
		statements = append(statements, sql[part[0].start:part[len(part)-1].end])
	}
	return statements, nil
}

// CheckMigration refuses a statement of a migration that is neither a change of data nor one of the definitions that
// modules may make.
func CheckMigration(statement string) error {
	tokens, err := scan(statement)
	if err != nil {
		return err
	}
	parts := split(tokens)
	if len(parts) != 1 {
		return refuse("there are %d statements where one should be", len(parts))
	}
	t := parts[0]
	switch first := keyword(t); {
	case slices.Contains(dataKeywords, first):
	case first == "create", first == "alter", first == "drop":
		if err := checkDefinition(t); err != nil {
			return err
		}
	case first == "comment":
	default:
		return refuse("a migration cannot hold a statement that begins with %s", shown(first)).
			WithHint("Migrations may CREATE, ALTER and DROP tables, indexes, views, sequences and types, COMMENT on " +
				"them, and change data.")
	}
	return checkTokens(t)
}

// dataKeywords begin statements that read or change rows. REPLACE is SQLite's.
var dataKeywords = []string{"select", "insert", "update", "delete", "with", "values", "table", "merge", "replace"}

// definable are the kinds of objects that migrations may define.
var definable = []string{"table", "index", "view", "sequence", "type"}

// checkDefinition checks the object of a CREATE, ALTER or DROP.
func checkDefinition(t []token) error {
	at := 1
	verb := t[0].name
	for at < len(t) && t[at].kind == word {
		switch what := t[at].name; {
		case verb == "create" && (what == "or" || what == "replace" || what == "unique" || what == "materialized"),
			verb != "create" && what == "materialized":
			at++
			continue
		case !slices.Contains(definable, what):
			return refuse("a migration cannot %s %s", strings.ToUpper(verb), strings.ToUpper(what)).
				WithHint("Migrations may define tables, indexes, views, sequences and types.")
		case what == "type" && verb == "create":
			return checkType(t)
		}
		if slices.ContainsFunc(t, func(t token) bool { return t.kind == word && t.name == "concurrently" }) {
			return refuse("CONCURRENTLY is not possible: migrations run in one transaction")
		}
		return nil
	}
	return refuse("a migration holds an incomplete %s", strings.ToUpper(verb))
}

// checkType allows enumerations and composite types; others bring functions.
func checkType(t []token) error {
	for i := range t {
		if t[i].is("as") && i+1 < len(t) && (t[i+1].is("enum") || t[i+1].is("(")) {
			return nil
		}
	}
	return refuse("a migration can create types AS ENUM and AS (…) only")
}

// split cuts tokens at semicolons and drops empty statements.
func split(tokens []token) [][]token {
	var parts [][]token
	start := 0
	for i := range tokens {
		if tokens[i].is(";") {
			if i > start {
				parts = append(parts, tokens[start:i])
			}
			start = i + 1
		}
	}
	if start < len(tokens) {
		parts = append(parts, tokens[start:])
	}
	return parts
}

// keyword is the first word of a statement, behind parentheses.
func keyword(t []token) string {
	for i := range t {
		if t[i].is("(") {
			continue
		}
		if t[i].kind == word {
			// (INSERT …) is no statement in any dialect.
			if i > 0 && t[i].name != "select" && t[i].name != "with" && t[i].name != "values" && t[i].name != "table" {
				return ""
			}
			return t[i].name
		}
		break
	}
	return ""
}

func shown(keyword string) string {
	if keyword == "" {
		return "this"
	}
	return strings.ToUpper(keyword)
}

func checkTokens(t []token) error {
	for i := range t {
		if !t[i].identifier() {
			continue
		}
		name := t[i].name
		next := func(symbol string) bool { return i+1 < len(t) && t[i+1].is(symbol) }
		switch {
		case forbiddenName(name):
			return refuse("%s is not available to modules", name)
		case next("(") && forbiddenCall(name):
			return refuse("the function %s is not available to modules", name)
		case next(".") && foreignSchema(name):
			return refuse("the schema %s is not available to modules", name).
				WithHint("Tables of a module are named without a schema.")
		case t[i].is("into") && !insertsInto(t, i):
			return refuse("SELECT … INTO is not allowed in statements of modules").
				WithHint("Create tables in a migration, and fill them with INSERT INTO … SELECT.")
		}
	}
	return nil
}

// insertsInto tells whether the INTO at position i belongs to an INSERT, MERGE or REPLACE, also INSERT OR IGNORE and
// its like, that begins a statement.
func insertsInto(t []token, i int) bool {
	at := i - 1
	if at >= 2 && t[at-1].is("or") && t[at].kind == word {
		at -= 2
	}
	if at < 0 || !t[at].is("insert") && !t[at].is("merge") && !t[at].is("replace") {
		return false
	}
	return at == 0 || t[at-1].is("(") || t[at-1].is(")")
}
