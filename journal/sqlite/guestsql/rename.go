package guestsql

import (
	"slices"
	"strings"
)

// Rename writes the stored names of the namespace's tables into the first statement of sql. The
// text behind the statement is left alone. It is called between Enter and the function that Enter
// returned.
//
// The naive way is to replace every word that is the name of a table. But a column may have the same name, and so may
// an alias or a string. So names are replaced where SQLite's grammar has only tables: behind FROM, JOIN, INTO, UPDATE
// and IN, between the commas of a FROM, and in definitions. The other places where a table is named are in front of a
// column, orders.total: those are left alone, and keep their meaning because a table that has no alias gets its own
// name as one. FROM orders becomes FROM "orders@staging" AS "orders".
//
// A common table expression with the name of a table is renamed as the table is: which of them a name stands for is
// SQLite's to say.
//
// An alias does not reach RETURNING: there the table in front of a column is replaced as well. In the checks of a
// definition, which can be about no other table, it is left out.
func (b *Sandbox) Rename(sql string) Renamed {
	b.renamed = b.rename(sql)
	return b.renamed
}

func (b *Sandbox) rename(sql string) Renamed {
	if b.suffix() == "" {
		return Renamed{Text: sql, sql: sql}
	}
	// SQLite refuses a statement that is longer.
	r := renaming{sandbox: b, sql: sql, tokens: scan(sql[:min(len(sql), maxSQLBytes)]), frames: []frame{{}}}
	r.pair()
	r.statement()
	return r.renamed()
}

// Renamed is a statement with the stored names of tables.
type Renamed struct {
	Text string
	sql  string
	// edits are in the order of the text.
	edits []replacement
}

// Column is the name of a column as the module's statement has it: an expression without an alias
// is named by a part of the statement.
func (r *Renamed) Column(name string) string {
	if len(r.edits) == 0 || !strings.Contains(name, mark) {
		return name
	}
	at := strings.Index(r.Text, name)
	if at < 0 {
		return name
	}
	return r.sql[r.before(at):r.before(at+len(name))]
}

// before is the place in the statement, as it was, of one in the text.
func (r *Renamed) before(at int) int {
	shift := 0
	for _, e := range r.edits {
		switch start := e.start + shift; {
		case at <= start:
			return at - shift
		case at <= start+len(e.with):
			return e.end
		}
		shift += len(e.with) - (e.end - e.start)
	}
	return at - shift
}

// renaming is the renaming of one statement.
type renaming struct {
	sandbox *Sandbox
	sql     string
	tokens  []token
	edits   []replacement
	// behind is the position behind the parenthesis that closes the one at a position.
	behind map[int]int
	// frames are the parentheses that are open, the statement itself first.
	frames []frame
	// target is the position of the table that rows are inserted into, changed or deleted in; 0 if there is none.
	target int
	// self is the table whose name is replaced in front of columns as well; empty if there is none.
	self string
	// view says that the statement makes a view, which may name tables that are made later.
	view bool
	// defines says that self is the table which the statement defines.
	defines bool
}

// replacement replaces a part of the text.
type replacement struct {
	start, end int
	with       string
}

// frame holds the facts about a pair of parentheses.
type frame struct {
	tables bool // it stands where a table can
	from   bool // it is in the list of tables of a FROM
	table  bool // a table is next
	hidden bool // self is the name of another table in it
}

// endOfTables are the keywords that end the list of a FROM.
var endOfTables = setOf("where group order having limit union except intersect returning set values select")

// at returns the token at i, or an empty one.
func (r *renaming) at(i int) token {
	if i < 0 || i >= len(r.tokens) {
		return token{kind: other}
	}
	return r.tokens[i]
}

func (r *renaming) statement() {
	switch first := r.at(0); {
	case first.is("create"):
		r.rest(r.create(1))
	case first.is("alter"):
		r.rest(r.alter(1))
	case first.is("drop"):
		r.drop(1)
	default:
		r.rest(0)
	}
}

// create renames the new object, and returns where the definition begins.
func (r *renaming) create(i int) int {
	for r.at(i).is("temp") || r.at(i).is("temporary") || r.at(i).is("unique") {
		i++
	}
	what := r.at(i)
	i = r.name(r.skip(i+1, "if", "not", "exists"))
	switch {
	case what.is("table"):
		r.made(i)
		if r.at(i + 1).is("(") { // not of a query
			r.self, r.defines = r.at(i).name, true
		}
	case what.is("view"):
		r.made(i)
		r.view = true
	case what.is("index") && r.at(i+1).is("on"):
		r.made(i)
		i = r.name(i + 2)
		r.existing(i)
		// Before the condition there are no tables, and no names of them in front of columns.
		r.self, r.defines = r.at(i).name, true
		if r.at(i + 1).is("(") {
			return r.behind[i+1]
		}
	}
	return i + 1
}

// alter renames the changed table, and its new name.
func (r *renaming) alter(i int) int {
	i = r.name(r.skip(i, "table"))
	r.existing(i)
	r.self, r.defines = r.at(i).name, true
	if r.at(i+1).is("rename") && r.at(i+2).is("to") {
		i += 3
		r.made(i)
	}
	return i + 1
}

func (r *renaming) drop(i int) {
	what := r.at(i)
	i = r.name(r.skip(i+1, "if", "exists"))
	if what.is("index") || what.is("table") || what.is("view") {
		r.made(i)
	}
}

// skip is the position behind keywords, if they stand at i.
func (r *renaming) skip(i int, keywords ...string) int {
	for n, keyword := range keywords {
		if !r.at(i + n).is(keyword) {
			return i
		}
	}
	return i + len(keywords)
}

// name is the position of a name that begins at i, behind the schema if one is named.
func (r *renaming) name(i int) int {
	if r.at(i).mayName() && r.at(i+1).is(".") && equalFold(r.at(i).name, "main") {
		return i + 2
	}
	return i
}

// rest renames in queries, in changes of rows, and in the definitions behind the name of the
// defined object.
func (r *renaming) rest(i int) {
	for ; i < len(r.tokens); i++ {
		t, top := r.tokens[i], &r.frames[len(r.frames)-1]
		switch {
		case t.is("("):
			// Among tables a parenthesis holds more of them, or a query.
			inside := frame{tables: top.table, from: top.table, table: top.table}
			top.table = false
			inside.hidden = top.hidden || r.self != "" && r.hides(i)
			r.frames = append(r.frames, inside)
		case t.is(")"):
			r.close()
		case t.is(","):
			top.table = top.from
		case r.at(i - 1).is("."):
			// A column, whatever its name.
		case t.is("with") && r.expressions(i+1):
			top.from, top.table = false, false
		case top.table && t.mayName():
			top.table = false
			i = r.table(i)
		case r.isSelf(i) && r.defines:
			r.edits = append(r.edits, replacement{start: t.start, end: r.at(i + 1).end})
		case r.isSelf(i):
			r.replace(i, t.name+r.sandbox.suffix())
		case t.kind == word:
			r.keyword(i, top)
		}
	}
}

// keyword goes by the keyword at i, if it is one.
func (r *renaming) keyword(i int, top *frame) {
	switch t := r.tokens[i]; {
	case t.is("from"):
		if r.at(i - 1).is("distinct") {
			return // IS DISTINCT FROM compares
		}
		top.from, top.table = true, true
		if r.at(i - 1).is("delete") {
			r.aimAt(i + 1)
		}
	case t.is("join"):
		top.from, top.table = true, true
	case t.is("into"):
		top.table = true
		r.aimAt(i + 1)
	case t.is("update"):
		if r.at(i-1).is("do") || r.at(i-1).is("on") {
			return // of a conflict, or of a foreign key
		}
		if r.at(i+1).is("or") && i+2 < len(r.tokens) {
			i += 2
			r.tokens[i-1].kind, r.tokens[i].kind = other, other // OR IGNORE and the like are no tables
		}
		top.table = true
		r.aimAt(i + 1)
	case t.is("in"):
		if name := r.name(i + 1); r.at(name).mayName() {
			r.existing(name)
		}
	case t.is("references"):
		r.made(r.name(i + 1))
	case t.is("by"):
		if r.at(i - 1).is("indexed") {
			r.made(i + 1)
		}
	case t.is("window"):
		if r.at(i + 2).is("as") {
			top.from = false
		}
	case t.isOneOf(endOfTables):
		top.from, top.table = false, false
		if t.is("returning") && len(r.frames) == 1 {
			r.self = r.targetName()
		}
	}
}

func (r *renaming) targetName() string {
	if r.target == 0 {
		return ""
	}
	return r.at(r.target).name
}

// aimAt notes the table whose rows the statement changes.
func (r *renaming) aimAt(i int) {
	if len(r.frames) == 1 {
		r.target = r.name(i)
	}
}

// isQuery tells whether the parenthesis at i, if there is one, holds a query.
func (r *renaming) isQuery(i int) bool {
	next := r.at(i + 1)
	return r.at(i).is("(") && (next.is("select") || next.is("with") || next.is("values"))
}

// isStored tells whether the stored name of a table is another than its own, be the table there or be it made by
// the statement.
func (r *renaming) isStored(name string) bool {
	owner, known := r.sandbox.owners[Fold(name)]
	return !known || owner != r.sandbox.namespace
}

// existing renames a table that is there, or that a view expects to be there.
func (r *renaming) existing(i int) bool {
	t := r.at(i)
	if !t.mayName() {
		return false
	}
	stored, renamed := r.sandbox.stored(t.name)
	if r.view {
		renamed = r.isStored(t.name)
	}
	if renamed {
		r.replace(i, stored)
	}
	return renamed
}

// made renames the objects that the statement makes, drops, or may name before it makes them.
func (r *renaming) made(i int) {
	if t := r.at(i); t.mayName() && r.isStored(t.name) {
		r.replace(i, t.name+r.sandbox.suffix())
	}
}

func (r *renaming) replace(i int, with string) {
	r.edits = append(r.edits, replacement{r.tokens[i].start, r.tokens[i].end, quoteName(with)})
}

// expressions renames the common table expressions whose list begins at i, and tells whether there are any.
func (r *renaming) expressions(i int) (found bool) {
	i = r.skip(i, "recursive")
	for r.at(i).mayName() {
		name := i
		if i++; r.at(i).is("(") {
			i = r.behind[i]
		}
		if !r.at(i).is("as") {
			return found
		}
		i = r.skip(r.skip(i+1, "not"), "materialized")
		if !r.at(i).is("(") {
			return found
		}
		found = true
		r.existing(name)
		if i = r.behind[i]; !r.at(i).is(",") {
			return found
		}
		i++
	}
	return found
}

// pair pairs the parentheses. An unclosed one has the end of the statement.
func (r *renaming) pair() {
	r.behind = map[int]int{}
	var open []int
	for i, t := range r.tokens {
		switch {
		case t.is("("):
			r.behind[i] = len(r.tokens)
			open = append(open, i)
		case t.is(")") && len(open) > 0:
			r.behind[open[len(open)-1]] = i + 1
			open = open[:len(open)-1]
		}
	}
}

// close ends the last parenthesis that is open.
func (r *renaming) close() {
	if len(r.frames) == 1 {
		return
	}
	r.frames = r.frames[:len(r.frames)-1]
}

// renamed returns the statement with its names replaced, and the rest.
func (r *renaming) renamed() Renamed {
	slices.SortStableFunc(r.edits, func(a, b replacement) int { return a.start - b.start })
	var (
		out   strings.Builder
		done  int
		edits []replacement
	)
	for _, e := range r.edits {
		if e.start < done {
			continue // invalid SQL may name a table twice with one word
		}
		out.WriteString(r.sql[done:e.start])
		out.WriteString(e.with)
		done, edits = e.end, append(edits, e)
	}
	out.WriteString(r.sql[done:])
	return Renamed{Text: out.String(), sql: r.sql, edits: edits}
}
