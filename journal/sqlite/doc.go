// Package sqlite is the embedded store: one SQLite file in the host's data folder, which holds the journals and, so
// that both commit together, the tables of the modules.
//
// The file runs in WAL mode with synchronous=FULL: a commit that was acknowledged survives a power cut. There is one
// write handle, lent to one user at a time (writerqueue.go), and a few read handles that never wait for it. A lock on
// the folder keeps a second process out (lockfile.go).
//
// SQL of modules runs on the same write handle, confined by an authorizer and by limits (guestsql, guest.go): it sees
// the tables of its own namespace and nothing else.
//
// The package imports abi, journal, journal/sqlread and journal/sqlsweep, which have its plain reads and its
// sweeps, and migrations. Package storetest tests commit.go, deploy.go, entity.go, inbox.go, read.go,
// reads.go and receipts.go (sqlite_test.go runs it).
//
// Start reading at open.go.
package sqlite
