package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Migration is one step of the module's SQL schema. The host applies the steps in the order of Version, once each, when
// the module is deployed. Do not change a step that was applied: add another one.
type Migration = abi.Migration

// Dialects of a [Migration]. The empty dialect is for all databases.
const (
	SQLite   = abi.DialectSQLite
	Postgres = abi.DialectPostgres
)

// Registered is the result of a registration. It exists so that the call can be the value of a package-level variable:
//
//	var _ = cruster.Migrations(cruster.Migration{Version: 1, Name: "orders", SQL: "CREATE TABLE …"})
type Registered struct{}

// Migrations registers steps of the SQL schema. It panics if a version is registered twice for the same dialect.
func Migrations(steps ...Migration) Registered {
	for _, m := range steps {
		guest.Register(func(r *guest.Registry) { r.AddMigration(m) })
	}
	return Registered{}
}
