package sqlite

import (
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
)

// sandboxMode is whose SQL is compiled.
type sandboxMode int

const (
	ownSQL     sandboxMode = iota // Cruster's own: everything is allowed
	guestDML                      // rows of the namespace's tables
	guestDDL                      // CREATE, ALTER and DROP of them, in migrations
	guestAlter                    // ALTER: as above, and checks SQLite itself runs
)

// sandbox confines SQL of modules on the write handle, whose authorizer it is.
//
// The tables of the modules lie in the same file as Cruster's own, because only
// then do an activity's rows and its journal entry commit together. What keeps
// them apart is SQLite's authorizer: while a statement is compiled, SQLite asks
// it about every table, column and operation the statement touches, whatever
// names, views, subqueries or spellings lead there.
//
// The naive way is to install an authorizer before a module's statement and
// remove it afterwards. But installing one makes SQLite compile every prepared
// statement of the handle anew, the journal's too, after each activity. So one
// authorizer stays installed, and its mode is switched.
//
// The layers, from the outside in:
//
//  1. The first word of a statement must be on a list: no PRAGMA, ATTACH,
//     VACUUM, EXPLAIN, BEGIN … gets as far as SQLite (statement.go).
//  2. One statement a call; nothing may follow it.
//  3. The authorizer allows what is listed here and denies the rest. A table
//     must belong to the namespace. Triggers, temporary objects and virtual
//     tables are never allowed.
//  4. SQLite's limits bound the length of values and statements, and a timer
//     interrupts what takes too long (guest.go). Functions that cannot be
//     interrupted are replaced (functions.go), and what a statement expands to
//     while it is compiled is bounded (expansion.go).
//
// SQLite's "defensive" flag would be one more. It is left out because the
// binding's SetDefensive passes one argument where SQLite reads two, and so lets
// it write through a pointer that is not there. What the flag guards against,
// writing the schema table, needs a PRAGMA that no module can run.
type sandbox struct {
	conn *sqlite.Conn
	// owners tells the namespace of each table and view that modules made. The
	// names are in lower case.
	owners map[string]string

	mode      sandboxMode
	namespace string
	// creating is the table that the present statement makes.
	creating string
	// refusal says what the present statement was denied.
	refusal string
	// writes says that the present statement changes rows.
	writes bool
	// asked counts the authorizer's questions about the present statement.
	asked int
	// failure is the error of a function that runs in Go.
	failure error
	// stop, once closed, ends functions that run in Go.
	stop <-chan struct{}
}

// Limits of a module's statement. A value may be as large as a body that
// crosses the guest's boundary, and a little more for what is built around it.
const (
	guestMaxValue = abi.MaxBody + 64<<10
	guestMaxSQL   = 256 << 10
	guestMaxDDL   = 16 << 10
)

func installSandbox(conn *sqlite.Conn) (*sandbox, error) {
	b := &sandbox{conn: conn, owners: map[string]string{}}
	err := run(conn, "SELECT name, namespace FROM cruster_guest_tables", nil, func(row *sqlite.Stmt) error {
		b.owners[row.ColumnText(0)] = row.ColumnText(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("tables of modules: %w", err)
	}
	conn.Limit(sqlite.LimitAttached, 0)
	conn.Limit(sqlite.LimitColumn, 256)
	conn.Limit(sqlite.LimitExprDepth, 200)
	conn.Limit(sqlite.LimitCompoundSelect, 100)
	conn.Limit(sqlite.LimitLikePatternLength, 256)
	conn.Limit(sqlite.LimitWorkerThreads, 0)
	conn.Limit(sqlite.LimitVDBEOp, maxProgram)
	if err := boundExpansion(conn); err != nil {
		return nil, err
	}
	if err := b.installFunctions(); err != nil {
		return nil, err
	}
	if err := conn.SetAuthorizer(b); err != nil {
		return nil, err
	}
	return b, nil
}

// enter confines sql, which is compiled and run until the returned function is
// called. Closing stop interrupts.
func (b *sandbox) enter(mode sandboxMode, namespace, sql string, stop <-chan struct{}) (leave func()) {
	b.mode, b.namespace, b.stop = mode, namespace, stop
	b.creating, b.refusal, b.writes, b.failure, b.asked = "", "", false, nil, 0
	length := b.conn.Limit(sqlite.LimitLength, maxValue(sql))
	sqlLength := b.conn.Limit(sqlite.LimitSQLLength, guestMaxSQL)
	return func() {
		b.mode, b.stop = ownSQL, nil
		b.conn.Limit(sqlite.LimitLength, length)
		b.conn.Limit(sqlite.LimitSQLLength, sqlLength)
	}
}

// Authorize implements sqlite.Authorizer.
func (b *sandbox) Authorize(action sqlite.Action) sqlite.AuthResult {
	if b.mode == ownSQL {
		return sqlite.AuthResultOK
	}
	if b.asked++; b.asked > maxAsked || b.isStopped() {
		if b.refusal == "" {
			b.refusal = "the statement is too complex: it expands to too many parts"
		}
		return sqlite.AuthResultDeny
	}
	if b.allows(action) {
		return sqlite.AuthResultOK
	}
	if b.refusal == "" {
		b.refusal = refusalOf(action)
	}
	return sqlite.AuthResultDeny
}

func refusalOf(action sqlite.Action) string {
	if t := action.Type(); t == sqlite.OpCreateTable || t == sqlite.OpCreateView {
		name := action.Table()
		if t == sqlite.OpCreateView {
			name = action.View()
		}
		if isReserved(name) {
			return fmt.Sprintf("names like %q are Cruster's and SQLite's own", name)
		}
		return fmt.Sprintf("the name %q is taken by a table or view that another migration made", name)
	}
	if table := action.Table(); table != "" {
		return fmt.Sprintf("the table %q is not one of this namespace", table)
	}
	if pragma := action.Pragma(); pragma != "" {
		return fmt.Sprintf("the pragma %q is not for modules", pragma)
	}
	return fmt.Sprintf("%s is not for modules", strings.TrimPrefix(action.Type().String(), "SQLITE_"))
}

func (b *sandbox) allows(action sqlite.Action) bool {
	if db := action.Database(); db != "" && db != "main" && !(b.mode != guestDML && db == "temp" && isSchemaTable(action.Table())) {
		return false
	}
	switch action.Type() {
	case sqlite.OpSelect, sqlite.OpRecursive, sqlite.OpFunction:
		return true
	case sqlite.OpRead:
		return b.mayRead(action)
	case sqlite.OpInsert, sqlite.OpUpdate, sqlite.OpDelete:
		if b.mode != guestDML && isSchemaTable(action.Table()) {
			return true
		}
		b.writes = true
		return b.owns(action.Table())
	}
	return b.mode != guestDML && b.allowsDDL(action)
}

func (b *sandbox) allowsDDL(action sqlite.Action) bool {
	switch action.Type() {
	case sqlite.OpCreateTable:
		b.creating = strings.ToLower(action.Table())
		return b.isFree(b.creating)
	case sqlite.OpCreateView:
		return b.isFree(strings.ToLower(action.View()))
	case sqlite.OpCreateIndex, sqlite.OpDropIndex, sqlite.OpDropTable, sqlite.OpAlterTable:
		return b.owns(action.Table())
	case sqlite.OpDropView:
		return b.owns(action.View())
	case sqlite.OpReindex:
		// Comes with CREATE INDEX, whose table was asked for before.
		return true
	case sqlite.OpPragma:
		return b.mode == guestAlter && action.Pragma() == "quick_check"
	}
	return false
}

// mayRead tells whether a column may be read. Without a column the action says
// that a name stands in FROM and nothing of it is used, as in count(*); then
// the name may also be that of a common table expression, which SQLite does not
// tell us: it is one if no table has the name.
func (b *sandbox) mayRead(action sqlite.Action) bool {
	table := strings.ToLower(action.Table())
	switch {
	case b.owns(table):
		return true
	case b.mode != guestDML && isSchemaTable(table):
		return true
	case b.mode == guestAlter && table == "pragma_quick_check":
		return true
	case table == "json_each" || table == "json_tree":
		return true
	}
	return action.Column() == "" && b.isFree(table) && !builtIn[table]
}

// builtIn are virtual tables of SQLite that exist without being created.
var builtIn = map[string]bool{"dbstat": true, "bytecode": true, "tables_used": true, "completion": true, "fsdir": true}

func (b *sandbox) owns(table string) bool {
	table = strings.ToLower(table)
	owner, known := b.owners[table]
	return known && owner == b.namespace || b.creating != "" && table == b.creating
}

// isFree tells whether a name, in lower case, is not used yet and may be taken.
func (b *sandbox) isFree(name string) bool {
	_, known := b.owners[name]
	return !known && !isReserved(name)
}

// isReserved tells the names that modules may neither use nor take.
func isReserved(name string) bool {
	name = strings.ToLower(name)
	for _, prefix := range []string{"cruster_", "sqlite_", "goose", "pragma_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isSchemaTable tells the tables in which SQLite keeps its schema: CREATE,
// ALTER and DROP write them behind the scenes. That a module does not name them
// itself in such a statement is checked in its text (checkDDL).
func isSchemaTable(table string) bool {
	return strings.HasPrefix(strings.ToLower(table), "sqlite_")
}
