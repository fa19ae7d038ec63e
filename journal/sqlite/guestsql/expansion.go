package guestsql

import (
	"errors"
	"reflect"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
	"zombiezen.com/go/sqlite"
)

// Bounds on the expansion of a short statement.
//
// SQLite checks whether it is interrupted at the jumps of a program that runs, and hardly while it compiles. A
// statement that doubles itself a few dozen times therefore takes hours and all the memory, and nothing can stop it
// while it has the writer:
//
//   - A subquery, view or common table expression in FROM is merged into the
//     query around it, and conditions are pushed down into it, by writing its
//     expressions wherever its columns are used: SELECT max(c, c) FROM (SELECT
//     max(c, c) AS c FROM (…)) doubles with each level. Both optimizations are
//     switched off: rows of views then pass through a coroutine, which costs
//     little, and an index is used only by the conditions inside the view.
//   - A common table expression that is used twice is compiled twice, and so are
//     those it uses. The authorizer is asked about each and stops it.
//   - A generated column is computed wherever it is used, also by others. The
//     length of a program is bounded.
//   - A program without jumps is not interrupted: a||b of megabytes, thousands of times.
//     program.go bounds its work.
const (
	// maxProgram bounds the instructions of a program.
	maxProgram = 100_000
	// maxAsked bounds the authorizer's questions about one statement.
	maxAsked = 20_000
)

func (b *Sandbox) isStopped() bool {
	select {
	case <-b.stop:
		return true
	default:
		return false
	}
}

// boundExpansion switches the two optimizations off. The binding has no function for it, so this calls SQLite directly.
func boundExpansion(conn *sqlite.Conn) error {
	const flattener, pushDown = 0x1, 0x1000
	v := reflect.ValueOf(conn).Elem()
	tls, db := v.FieldByName("tls"), v.FieldByName("conn")
	if !tls.IsValid() || tls.Type() != reflect.TypeFor[*libc.TLS]() || !db.IsValid() || db.Kind() != reflect.Uintptr {
		return errors.New("this version of the SQLite binding is not known: its optimizations cannot be bounded")
	}
	args := libc.NewVaList(uintptr(db.Uint()), int32(flattener|pushDown))
	if args == 0 {
		return errors.New("out of memory")
	}
	defer libc.Xfree((*libc.TLS)(tls.UnsafePointer()), args)
	if code := lib.Xsqlite3_test_control(
		(*libc.TLS)(tls.UnsafePointer()), lib.SQLITE_TESTCTRL_OPTIMIZATIONS, args,
	); code != lib.SQLITE_OK {
		return sqlite.ResultCode(code).ToError()
	}
	return nil
}
