// Package postgres keeps the journal in Postgres: the production store.
//
// All tables of Cruster live in one schema ("cruster" unless configured). Each namespace of guests has a schema and a
// role of its own beside it, named "cruster__NAMESPACE", so that an activity's SQL and its journal entry commit in one
// transaction while the SQL sees nothing but its own tables.
//
// It imports abi, journal, journal/postgres/guestsql, journal/sqlread and journal/sqlsweep, which have its plain reads
// and its sweeps, and migrations. Start reading at commit.go (how a batch becomes one round trip, and why the fence
// holds), then guest.go (how SQL of modules is confined) and indoubt.go (what happens to a commit whose answer was
// lost). pools.go has the connections and the limits of every call.
//
// Package storetest tests columns.go, commit.go, entity.go, inbox.go, mail.go, read.go, reads.go, receipts.go, store.go
// and sweepreceipts.go (main_test.go runs it), open_test.go tests migrate.go.
//
// Connections must be direct ones or pooled by session: prepared statements and session settings do not survive a
// pooler that works by transaction.
package postgres
