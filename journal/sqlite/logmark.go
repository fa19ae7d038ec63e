package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
)

// # A log that is missing
//
// The latest commits are in the log alone, cruster.db-wal, until they are copied into cruster.db.
// If a host is killed and someone removes the log, SQLite opens the database without a word: it is
// as it was some time ago, and acknowledged commits are missing. The same with a copy of cruster.db
// alone that was made while a host ran.
//
// So the database says whether there is a log that belongs to it: it has a mark while a store is
// open, and has none once it was closed. It must be in the file itself, so that a copy has it, and
// be there before anything is acknowledged. The steps, and the state after a crash behind each:
//
//  1. Open looks at the mark in the file, before SQLite does. Marked and without a log: refused.
//  2. Open writes the mark, as a commit. It is in the log, not in the file: nothing was acknowledged
//     by this store yet, and the log of an earlier store is as safe as it was: either the
//     file has that one's mark, or it was closed in good order and there is nothing.
//  3. Open copies the log into the file. From here on the file is marked, and the log holds the commit
//     of step 2 at least: it is never empty while the store is open. Now the store is used.
//  4. Close copies the log again: all of it is in the file, which is still marked.
//  5. Close removes the mark, as a commit of this one page. A crash leaves a marked file with a log.
//  6. SQLite copies the log, which has one page to copy, and deletes it. The page is written at once or not
//     at all. Were steps 4 and 5 one, the page with the mark would be copied first, and a crash
//     would leave a file that looks complete and is not.
//
// The last handle on a database that is closed removes the log. So from step 1 on a handle is held
// while others come and go: the one with which the schema is migrated must not be the last.
//
// A backup that SQLite makes (.backup, VACUUM INTO) is complete, has no log, and has the mark,
// because it has all of the database. It is told from a copy of the file by the number of the
// schema, which belongs to the file and not to its content: a backup gets one of its own, counted
// from 0, and VACUUM INTO makes no database with a log at all. The mark is the number of the schema
// at step 2, random and large, in the place for the number of a program's own format
// (user_version). It holds while the number of the schema equals it, or is a little above it:
// modules change the schema.
//
// One thing looks like a loss and is none: a host is killed, and another program (the shell of SQLite)
// opens the database and closes it. It copies the log and deletes it, and knows nothing of marks.
// The error says so.

// The fields of the header of a database that the mark is about, and how far the number of the schema may be
// above the mark.
const (
	headerLength  = 100
	offsetFormat  = 18 // 2: there is a log
	offsetSchema  = 40
	offsetMark    = 60
	leastMark     = 1 << 30
	mostChanges   = 1 << 24
	logHeader     = 32 // bytes
	formatWithLog = 2
)

// checkLog refuses a database whose log is missing, and a log whose database is.
func checkLog(path string) error {
	log, err := os.Stat(path + "-wal")
	hasLog := err == nil && log.Size() > logHeader
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	header := make([]byte, headerLength)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if hasLog {
			return lostLog("there is a log %s-wal, and the database that it belongs to is gone", path)
		}
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.ReadFull(f, header); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // SQLite reports the error
	} else if err != nil {
		return err
	}
	if !hasLog && isMarked(header) {
		return lostLog("the log %s-wal is gone, and with it the commits that were not copied into the database", path)
	}
	return nil
}

func lostLog(format string, path string) error {
	return abi.Errorf(abi.CodeStoreLog, format, path)
}

// isMarked tells whether the header of a database says that it has a log.
func isMarked(header []byte) bool {
	mark, schema := binary.BigEndian.Uint32(header[offsetMark:]), binary.BigEndian.Uint32(header[offsetSchema:])
	return header[offsetFormat] == formatWithLog && mark >= leastMark && schema >= mark && schema-mark < mostChanges
}

// markOpen is steps 2 and 3.
func markOpen(conn *sqlite.Conn) error {
	mark := leastMark + rand.IntN(leastMark-2*mostChanges) //nolint:gosec // no secret
	for _, statement := range []string{
		"BEGIN IMMEDIATE", fmt.Sprintf("PRAGMA schema_version = %d", mark),
		fmt.Sprintf("PRAGMA user_version = %d", mark), "COMMIT", copyLog,
	} {
		if err := runOnce(conn, statement, nil, nil); err != nil {
			return fmt.Errorf("mark the database as open: %w", err)
		}
	}
	return nil
}

// copyLog copies as much as possible without waiting for anyone. A reader in another process can
// keep it from copying all; a later one, with the mark, copies the remainder.
const copyLog = "PRAGMA wal_checkpoint(PASSIVE)"

// markClosed is steps 4 and 5, if the database is marked.
func markClosed(conn *sqlite.Conn) error {
	var mark int
	err := runOnce(conn, "PRAGMA user_version", nil, func(row *sqlite.Stmt) error {
		mark = row.ColumnInt(0)
		return nil
	})
	if err != nil || mark == 0 {
		return err
	}
	for _, statement := range []string{copyLog, "PRAGMA user_version = 0"} {
		if err := runOnce(conn, statement, nil, nil); err != nil {
			return fmt.Errorf("mark the database as closed: %w", err)
		}
	}
	return nil
}
