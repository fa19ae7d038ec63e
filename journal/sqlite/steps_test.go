package sqlite

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// statusOf asks SQLite for a count of a statement that a handle has prepared, and sets it to zero. The binding does not
// tell it.
func statusOf(t testing.TB, conn *sqlite.Conn, query string, count int32) int {
	stmt, err := conn.Prepare(query) // the statement that run uses
	require.NoError(t, err)
	tls := (*libc.TLS)(reflect.ValueOf(conn).Elem().FieldByName("tls").UnsafePointer())
	handle := uintptr(reflect.ValueOf(stmt).Elem().FieldByName("stmt").Uint())
	return int(lib.Xsqlite3_stmt_status(tls, handle, count, 1))
}

// stepsOf is how many instructions a statement has run on a handle since it was asked last. It is the work that a query
// did, whatever the machine: each row that it walks over takes some.
func stepsOf(t testing.TB, conn *sqlite.Conn, query string) int {
	return statusOf(t, conn, query, lib.SQLITE_STMTSTATUS_VM_STEP)
}
