package migrations

import "embed"

// Postgres holds the steps of the Postgres schema. They name no schema: a store applies them with search_path set to
// its own.
//
//go:embed postgres/*.sql
var Postgres embed.FS
