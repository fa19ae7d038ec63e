// Package migrations holds the SQL schemas of the stores, embedded into the binary: one folder a dialect, one file a
// version, in the form that goose applies. A file that was released never changes; a change is a new file. The folder
// schema has their sum: a new store is made by one script, to which each change is added as well.
//
// On Postgres a step is applied while hosts of the version before are at work. So it expands the schema:
// it adds tables, columns that may be null or have a default, and indexes. Anything that the version before still uses
// is taken away by a step of a later version, when no host needs it: expand, then contract. A step waits
// for a lock for a moment only and is then tried again, because whatever comes behind it in the queue
// waits as well. An index on a table that has rows is made by a file with the line "-- +goose NO TRANSACTION", which is
// applied statement by statement and can be interrupted between them:
//
//	-- +goose NO TRANSACTION
//	-- +goose Up
//	SET lock_timeout = 0;
//	DROP INDEX CONCURRENTLY IF EXISTS name;
//	CREATE INDEX CONCURRENTLY name ON …;
//	RESET lock_timeout;
//
// Steps 9 and 11 on Postgres are older than this rule: they rewrite or drop tables, and a host of the version before is
// fenced by them.
package migrations
