package guestsql

import (
	"fmt"
	"maps"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
)

// Mode is the set of permissions of the SQL being compiled.
type Mode int

// The modes.
const (
	ownSQL     Mode = iota // Cruster's own: everything is allowed
	Rows                   // reads and changes rows of the namespace's tables
	Definition             // CREATE, ALTER and DROP of them, in migrations
	Alteration             // ALTER: as above, and checks SQLite itself runs
)

// Sandbox confines SQL of modules on the write handle, whose authorizer it is.
//
// The tables of the modules lie in the same file as Cruster's own, because only then do an activity's rows and its
// journal entry commit together. SQLite's authorizer keeps them apart: while a statement is compiled, SQLite
// asks it about every table, column and operation the statement touches, whatever names, views, subqueries or spellings
// lead there.
//
// The naive way is to install an authorizer before a module's statement and remove it afterwards. But installing one
// makes SQLite compile every prepared statement of the handle anew, the journal's too, after each activity. So one
// authorizer stays installed, and its mode is switched.
//
// The layers, from the outside in:
//
//  1. The first word of a statement must be on a list: no PRAGMA, ATTACH,
//     VACUUM, EXPLAIN, BEGIN … gets as far as SQLite (statement.go).
//  2. One statement a call; nothing may follow it.
//  3. The authorizer allows the actions listed here and denies the rest. A table
//     must belong to the namespace, and a new one must be named as those
//     of the namespace are (storednames.go). Triggers, temporary objects and
//     virtual tables are never allowed.
//  4. SQLite's limits bound the length of values and statements, and a timer
//     interrupts statements that take too long (the store). A function must be on a list
//     (costs.go). Slow ones are replaced (functions.go), and the work that
//     others do between two looks at the interrupt is bounded (program.go), as is the code that
//     a statement expands to while it is compiled (expansion.go).
//
// SQLite's "defensive" flag would be one more. It is left out because the binding's SetDefensive
// passes one argument where SQLite reads two, and so lets it write through a pointer that is not
// there. The flag's target, writing the schema table, needs a PRAGMA that no module can run.
type Sandbox struct {
	conn *sqlite.Conn
	// owners tells the namespace of each table and view that modules made. The names are the stored ones, in lower
	// case.
	owners map[string]string
	// plain is the namespace whose tables are stored as they are called.
	plain string

	mode      Mode
	namespace string
	// renamed is the present statement.
	renamed Renamed
	// creating is the table that the present statement makes.
	creating string
	// refusal is the denial of the present statement, and hint the remedy.
	refusal, hint string
	// writes says that the present statement changes rows.
	writes bool
	// asked counts the authorizer's questions about the present statement.
	asked int
	// failure is the error of a function that runs in Go.
	failure error
	// stop, once closed, ends functions that run in Go.
	stop <-chan struct{}
	// longest is how long values of the present statement may be.
	longest int32
	// costs are the costs of statements that were looked at before.
	costs map[string]cost
}

// Limits of a module's statement. A value may be as large as a body that crosses the guest's
// boundary, and a little more for its surroundings.
const (
	maxValueBytes      = abi.MaxBody + 64<<10
	maxSQLBytes        = 256 << 10
	maxDefinitionBytes = 16 << 10
)

// Install puts a sandbox on the handle that writes. Owners tells the namespace of each table and view that modules
// made, by their stored names in lower case. Plain is the namespace whose tables are stored as they are called.
func Install(conn *sqlite.Conn, owners map[string]string, plain string) (*Sandbox, error) {
	b := &Sandbox{conn: conn, owners: owners, plain: plain, costs: map[string]cost{}}
	if err := checkBinding(); err != nil {
		return nil, err
	}
	conn.Limit(sqlite.LimitAttached, 0)
	conn.Limit(sqlite.LimitColumn, 256)
	conn.Limit(sqlite.LimitExprDepth, 200)
	conn.Limit(sqlite.LimitCompoundSelect, 100)
	conn.Limit(sqlite.LimitFunctionArg, maxArgs)
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

// Owners tells the namespace of each table and view that modules made, by their stored names. The map is the sandbox's
// own.
func (b *Sandbox) Owners() map[string]string { return b.owners }

// Stage begins a transaction whose statements may make tables. If it does not commit, undo has them belong to no
// namespace.
func (b *Sandbox) Stage() (undo func()) {
	before := b.owners
	b.owners = maps.Clone(before)
	return func() { b.owners = before }
}

// Writes tells whether the present statement changes rows.
func (b *Sandbox) Writes() bool { return b.writes }

// Refusal returns why the present statement is not allowed, or the error of one of its functions;
// nil if there is neither.
func (b *Sandbox) Refusal() error {
	switch {
	case b.refusal != "":
		refusal := abi.Errorf(abi.CodeSQLForbidden, "%s", b.Called(b.refusal))
		if b.hint != "" {
			refusal = refusal.WithHint("%s", b.hint)
		}
		return refusal
	case b.failure != nil:
		return abi.Errorf(abi.CodeSQL, "%s", b.failure)
	default:
		return nil
	}
}

// Longest is how long values of the present statement may be, and whether that is less than for others.
func (b *Sandbox) Longest() (bytes int, reduced bool) {
	return int(b.longest), b.longest < maxValueBytes
}

// Enter confines a statement, which is compiled and run until the returned function is called. Closing stop interrupts.
func (b *Sandbox) Enter(mode Mode, namespace string, stop <-chan struct{}) (leave func()) {
	b.mode, b.namespace, b.stop = mode, namespace, stop
	b.creating, b.refusal, b.hint, b.writes, b.failure, b.asked = "", "", "", false, nil, 0
	b.longest = maxValueBytes
	length := b.conn.Limit(sqlite.LimitLength, maxValueBytes)
	sqlLength := b.conn.Limit(sqlite.LimitSQLLength, maxSQLBytes)
	return func() {
		b.mode, b.stop = ownSQL, nil
		b.conn.Limit(sqlite.LimitLength, length)
		b.conn.Limit(sqlite.LimitSQLLength, sqlLength)
	}
}

// Authorize implements sqlite.Authorizer.
func (b *Sandbox) Authorize(action sqlite.Action) sqlite.AuthResult {
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
		if action.Type() == sqlite.OpDelete && b.mode == Rows {
			// Row by row: emptying a table at once cannot be interrupted.
			return sqlite.AuthResultIgnore
		}
		return sqlite.AuthResultOK
	}
	if b.refusal == "" {
		b.refusal = b.refusalOf(action)
		if action.Type() == sqlite.OpFunction {
			b.hint = hintFunction
		}
	}
	return sqlite.AuthResultDeny
}

func (b *Sandbox) refusalOf(action sqlite.Action) string {
	if action.Type() == sqlite.OpFunction {
		return refusalOfFunction(functionName(action))
	}
	if t := action.Type(); t == sqlite.OpCreateTable || t == sqlite.OpCreateView {
		name := action.Table()
		if t == sqlite.OpCreateView {
			name = action.View()
		}
		if isReserved(name) {
			return fmt.Sprintf("names like %q are Cruster's and SQLite's own", name)
		}
		if !b.mayBeMade(b.namespace, name) {
			return fmt.Sprintf("the name %q has a %q, which tells namespaces apart", name, mark)
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

func (b *Sandbox) allows(action sqlite.Action) bool {
	if db := action.Database(); db != "" && db != "main" &&
		!(b.mode != Rows && db == "temp" && isSchemaTable(action.Table())) {
		return false
	}
	switch action.Type() {
	case sqlite.OpSelect, sqlite.OpRecursive:
		return true
	case sqlite.OpFunction:
		return b.mayCall(functionName(action))
	case sqlite.OpRead:
		return b.mayRead(action)
	case sqlite.OpInsert, sqlite.OpUpdate, sqlite.OpDelete:
		if b.mode != Rows && isSchemaTable(action.Table()) {
			return true
		}
		b.writes = true
		return b.owns(action.Table())
	}
	return b.mode != Rows && b.allowsDDL(action)
}

func (b *Sandbox) allowsDDL(action sqlite.Action) bool {
	switch action.Type() {
	case sqlite.OpCreateTable:
		b.creating = Fold(action.Table())
		return b.isFree(b.creating) && b.mayBeMade(b.namespace, b.creating)
	case sqlite.OpCreateView:
		return b.isFree(Fold(action.View())) && b.mayBeMade(b.namespace, action.View())
	case sqlite.OpCreateIndex, sqlite.OpDropIndex, sqlite.OpDropTable, sqlite.OpAlterTable:
		return b.owns(action.Table())
	case sqlite.OpDropView:
		return b.owns(action.View())
	case sqlite.OpReindex:
		// Comes with CREATE INDEX, whose table was asked for before.
		return true
	case sqlite.OpPragma:
		return b.mode == Alteration && action.Pragma() == "quick_check"
	}
	return false
}

// mayRead tells whether a column may be read. Without a column the action says that a name stands
// in FROM and nothing of it is used, as in count(*); then the name may also be a common table
// expression's, which SQLite does not tell us: it is one if no table has the name.
func (b *Sandbox) mayRead(action sqlite.Action) bool {
	table := Fold(action.Table())
	switch {
	case b.owns(table):
		return true
	case b.mode != Rows && isSchemaTable(table):
		return true
	case b.mode == Alteration && table == "pragma_quick_check":
		return true
	case table == "json_each" || table == "json_tree":
		return true
	}
	return action.Column() == "" && b.isFree(table) && !builtIn[table]
}

// builtIn are virtual tables of SQLite that exist without being created.
var builtIn = map[string]bool{"dbstat": true, "bytecode": true, "tables_used": true, "completion": true, "fsdir": true}

func (b *Sandbox) owns(table string) bool {
	table = Fold(table)
	owner, known := b.owners[table]
	return known && owner == b.namespace || b.creating != "" && table == b.creating
}

// isFree tells whether a name, in lower case, is not used yet and may be taken.
func (b *Sandbox) isFree(name string) bool {
	_, known := b.owners[name]
	return !known && !isReserved(name)
}

// isReserved tells the names that modules may neither use nor take.
func isReserved(name string) bool {
	name = Fold(name)
	for _, prefix := range []string{"cruster_", "sqlite_", "goose", "pragma_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// isSchemaTable tells the tables in which SQLite keeps its schema: CREATE, ALTER and DROP write them behind the scenes.
// That a module does not name them itself in such a statement is checked in its text (checkDDL).
func isSchemaTable(table string) bool {
	return strings.HasPrefix(Fold(table), "sqlite_")
}
