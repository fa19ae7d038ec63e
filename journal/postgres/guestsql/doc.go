// Package guestsql reads the SQL of modules before a database does: it splits migrations into
// statements, and refuses the ones closed to modules.
//
// Its counterpart for SQLite is journal/sqlite/guestsql, where an authorizer is asked about each access that a
// statement is about to make. Statements and functions that only SQLite has are named here too: a module that is moved
// gets the same advice on both.
//
// It is one of several layers. The database's own rights (a role in Postgres, an authorizer in SQLite) keep a module
// inside its own tables. This package keeps it from the few statements and functions that could change those rights
// (SET ROLE, set_config, functions that run a text as SQL) or that reach past them (locks of the session, files, other
// servers, the catalogue).
//
// It does not parse SQL; it reads tokens. Where Postgres and SQLite would read the same bytes differently, it refuses
// them, so that nothing can be a comment for the one and a statement for the other.
//
// It imports abi. Start reading at check.go; lexer.go has the tokens.
package guestsql
