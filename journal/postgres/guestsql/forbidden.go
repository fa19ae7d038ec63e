package guestsql

import (
	"slices"
	"strings"
)

// forbiddenName tells whether an identifier is refused wherever it stands: names that no table or column needs, and
// that lead out of the confinement if they are called. They can be spelt differently only with escapes that the lexer
// refuses.
func forbiddenName(name string) bool {
	switch {
	case slices.Contains(allowedPG, name):
		return false
	case strings.HasPrefix(name, "pg_"):
		// The catalogue; sleeping; advisory locks; files; other sessions; notifications.
		return true
	case name == "set_config":
		return true
	case strings.HasPrefix(name, "cruster_"):
		// Cruster's own names, on either store; modules may not take one either.
		return true
	}
	// Functions that run a text as SQL: query_to_xml, table_to_xml_and_xmlschema …
	return strings.Contains(name, "_to_xml")
}

// allowedPG are harmless although their names begin with pg_.
var allowedPG = []string{"pg_typeof", "pg_column_size", "pg_size_pretty"}

// forbiddenCall tells whether a function is refused. Its name may serve for a column.
func forbiddenCall(name string) bool {
	for _, prefix := range forbiddenPrefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains(forbiddenFunctions, name)
}

var forbiddenPrefixes = []string{
	"dblink",       // other servers, and SQL from texts
	"lo_",          // large objects: they belong to no schema
	"inet_server_", // where the database runs
	"inet_client_", // where the host runs
	"crosstab",     // SQL from texts
	"txid_",        // the life of other transactions
	"binary_upgrade_",
}

var forbiddenFunctions = []string{
	"loread", "lowrite",
	// SQL from texts.
	"ts_stat", "ts_rewrite", "connectby", "xpath_table", "exec_sql",
	// Comments and definitions of objects of others.
	"obj_description", "col_description", "shobj_description",
	// SQLite: code, files and its own tokenizers.
	"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer",
}

// foreignSchema tells whether a name that something is qualified with belongs to others. The database refuses to read
// it in any case; this only gives the better answer.
func foreignSchema(name string) bool {
	switch name {
	case "cruster", "information_schema", "public":
		return true
	}
	return false
}
