package guestsql

// behindTable are the keywords that can follow a table without an alias.
var behindTable = setOf(
	`on using where group order having limit window union except intersect join left right full inner cross natural outer
	indexed not set values select default with returning`,
)

// table renames a table in a list of tables, and has it keep its own name as an alias if it has none. It returns
// the position of the table's last token.
func (r *renaming) table(first int) int {
	i := r.name(first)
	if inFrom := r.frames[len(r.frames)-1].from; inFrom && r.at(i+1).is("(") {
		return i // a function
	}
	if !r.existing(i) {
		return i
	}
	if last := r.aliasBehind(first, i); last >= 0 {
		end := r.tokens[last].end
		r.edits = append(r.edits, replacement{end, end, " AS " + quoteName(r.at(i).name)})
	}
	return i
}

// isAlias tells whether t, behind a table, is its alias or the AS of one.
func (t token) isAlias() bool {
	return t.kind == quoted || t.kind == text || t.kind == word && !t.isOneOf(behindTable)
}

// aliasBehind is the position behind which a table gets its own name as an alias; below zero if it has another. The
// table begins at first, and its name is at i.
//
// SQLite forgets the alias of a table that is alone in parentheses, unless they are the first of a
// list: its name is the table's. So the alias goes behind the parentheses.
func (r *renaming) aliasBehind(first, i int) int {
	end := i
	hasAlias := r.at(i + 1).isAlias()
	if hasAlias {
		end = r.skip(i+1, "as")
	}
	switch {
	case r.at(end+1).is("not") && r.at(end+2).is("indexed"):
		end += 2
	case r.at(end+1).is("indexed") && r.at(end+2).is("by"):
		end += 3
	}
	alone := 0
	for alone < len(r.frames) && r.frames[len(r.frames)-1-alone].tables && r.at(first-1-alone).is("(") &&
		r.at(end+1+alone).is(")") {
		alone++
	}
	isFirst := !r.at(first-1-alone).is(",") && !r.at(first-1-alone).is("join")
	switch {
	case alone == 0 && !hasAlias:
		return i
	case alone > 0 && !r.at(end+alone+1).isAlias() && !(hasAlias && isFirst):
		return end + alone
	}
	return -1
}

// hides reports whether the parenthesis at open holds a query of something that may have the name
// of self: a table without an alias, or anything with the alias. The queries in it are looked at
// when it is their turn.
func (r *renaming) hides(open int) bool {
	if !r.isQuery(open) {
		return false
	}
	for i := open + 1; i < r.behind[open]; i++ {
		for r.isQuery(i) {
			i = r.behind[i]
		}
		if equalFold(r.at(i).name, r.self) && r.at(i).mayName() && !r.at(i+1).is(".") && !r.at(i+1).isAlias() {
			return true
		}
	}
	return false
}

// isSelf reports whether the table that is defined, or whose rows are returned, stands in front of
// a column. In a query inside it, the name may be another's.
func (r *renaming) isSelf(i int) bool {
	return r.self != "" && !r.frames[len(r.frames)-1].hidden && r.at(i).mayName() && r.at(i+1).is(".") &&
		equalFold(r.at(i).name, r.self) && r.isStored(r.self)
}
