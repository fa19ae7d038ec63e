package migrations

import "embed"

// SQLite holds the schema of the embedded store, one file a version.
//
//go:embed sqlite/*.sql
var SQLite embed.FS
