// Command rows counts the rows of a table in the database file of an embedded store, by the value of one column. The
// demo uses it to look past the host at the real contents of the disk.
//
//	go run ./scripts/rows DATA_FOLDER TABLE COLUMN
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: rows DATA_FOLDER TABLE COLUMN")
		os.Exit(2)
	}
	if err := count(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

var identifier = regexp.MustCompile(`^[a-z_]+$`)

func count(folder, table, column string) (err error) {
	if !identifier.MatchString(table) || !identifier.MatchString(column) {
		return fmt.Errorf("%q.%q is no column", table, column)
	}
	db, err := sqlite.OpenConn(filepath.Join(folder, "cruster.db"), sqlite.OpenReadOnly)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := db.Close(); err == nil {
			err = closeErr
		}
	}()
	query := fmt.Sprintf("SELECT %[2]s, COUNT(*) FROM %[1]s GROUP BY 1 ORDER BY 1", table, column)
	return sqlitex.ExecuteTransient(db, query, &sqlitex.ExecOptions{ResultFunc: func(row *sqlite.Stmt) error {
		_, err := fmt.Printf("%s %d\n", row.ColumnText(0), row.ColumnInt64(1))
		return err
	}})
}
