// Package guestsql confines the SQL of modules on SQLite: which statements may be compiled, which tables they may
// touch, which functions they may call, and how much a statement may expand to. The layers stand above [Sandbox]. Each
// namespace has names of its own for its tables (storednames.go), which are written into statements (rename.go).
//
// Its counterpart for Postgres is journal/postgres/guestsql; there roles keep namespaces apart, here it is SQLite's
// authorizer. The package imports abi. Start reading at sandbox.go.
package guestsql
