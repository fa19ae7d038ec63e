package migrations

import _ "embed"

// SQLiteSchema and PostgresSchema are the schemas of new stores: the result of all steps, in one script.
// Each is run in a transaction. A store that has steps already goes on with [Steps].
var (
	//go:embed schema/sqlite.sql
	SQLiteSchema string
	//go:embed schema/postgres.sql
	PostgresSchema string
)
