package sqlite

import (
	"slices"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
)

// A list with conditions goes by the index of attributes. The executions of one namespace whose
// attribute has one value are in it in the order of the list; so the first condition that asks for
// one value leads, and all else is looked up by the ids that it yields. If all ask for ranges, the
// rows of the first are sorted.

const selectNextAttributes = "SELECT namespace FROM cruster_attributes WHERE namespace >= ?1 ORDER BY namespace LIMIT 1"

// mergeWhere is mergeWorkflowStates for a list with conditions.
func (l *listing) mergeWhere() error {
	if l.filter.Namespace != "" {
		return l.mergeConditions(l.filter.Namespace)
	}
	for at := ""; ; at += "\x00" { // the least behind it
		found := false
		err := run(
			l.conn,
			selectNextAttributes,
			func(stmt *sqlite.Stmt) { stmt.BindText(1, at) },
			func(row *sqlite.Stmt) error {
				at, found = row.ColumnText(0), true
				return nil
			},
		)
		if err != nil || !found {
			return err
		}
		if err := l.mergeConditions(at); err != nil {
			return err
		}
	}
}

// mergeConditions adds the newest of a namespace that meet the conditions.
func (l *listing) mergeConditions(namespace string) error {
	where := leading(l.filter.Where)
	return l.add(runOnce, whereQuery(&l.filter), func(stmt *sqlite.Stmt) {
		stmt.BindText(1, namespace)
		l.bindBounds(stmt, 2)
		stmt.BindText(7, l.filter.Workflow)
		stmt.BindText(8, string(l.filter.State))
		for i := range where {
			c := &where[i]
			stmt.BindText(9+3*i, c.Name)
			stmt.BindText(10+3*i, c.Value.Type)
			if c.OfText() {
				stmt.BindText(11+3*i, c.Value.Text)
			} else {
				stmt.BindFloat(11+3*i, c.Value.Number)
			}
		}
	})
}

// leading has the condition first that leads.
func leading(where []journal.Condition) []journal.Condition {
	first := max(0, slices.IndexFunc(where, func(c journal.Condition) bool { return c.Operator == "=" }))
	return slices.Concat(where[first:first+1], where[:first], where[first+1:])
}

// whereQuery finds executions of a namespace that meet the conditions of a filter.
func whereQuery(f *journal.Filter) string {
	var q strings.Builder
	q.WriteString("SELECT a.created_at, a.id FROM cruster_attributes a WHERE a.namespace = ?1")
	for i, c := range leading(f.Where) {
		table, end := "a", ""
		if i > 0 {
			table, end = "b", ")"
			q.WriteString(" AND EXISTS (SELECT 1 FROM cruster_attributes b WHERE b.shard = a.shard AND b.id = a.id")
		}
		q.WriteString(conditionSQL(&c, table, 9+3*i) + end)
	}
	q.WriteString(" AND (a.created_at, a.id) < (?2, ?3) AND (a.created_at, a.id) > (?4, ?5)")
	if f.Workflow != "" || f.State != "" {
		q.WriteString(
			" AND EXISTS (SELECT 1 FROM cruster_executions e WHERE e.shard = a.shard AND e.id = a.id AND " +
				"e.superseded " +
				"= 0 AND ?8 IN ('', e.state) AND " +
				"(e.workflow = ?7 OR substr(?7, -1) IN ('', '/') AND substr(e.workflow, 1, length(?7)) = ?7))",
		)
	}
	q.WriteString(" ORDER BY a.created_at DESC, a.id DESC LIMIT +?6")
	return q.String()
}

// conditionSQL renders a condition on a row: the parameters are its name, type and value, from the
// given one on. The set of parameters is fixed, the operator is one of five.
func conditionSQL(c *journal.Condition, table string, param int) string {
	value := "@.text " + c.Operator + " #2"
	switch {
	case !c.OfText():
		value = "@.text = '' AND @.number " + c.Operator + " #2"
	case c.Operator == "=":
		value += " AND @.number = 0"
	}
	return strings.NewReplacer(
		"@", table, "#0", placeholder(param), "#1", placeholder(param+1), "#2", placeholder(param+2),
	).
		Replace(" AND @.name = #0 AND @.type = #1 AND " + value)
}

func placeholder(param int) string { return "?" + strconv.Itoa(param) }
