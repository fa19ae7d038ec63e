package postgres

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// lookUp ends a subquery that is asked for each row, in the order of the rows. A planner that may make a join of it may
// also read and sort all of them.
const lookUp = ` OFFSET 0)`

// whereQuery lists executions whose attributes meet conditions: see the embedded store, which
// works alike.
func (st *statements) whereQuery(f journal.Filter, want int, after journal.Wake) (string, []any) {
	at, id := pageBegin(&f, after)
	args := []any{f.Namespace, at, id, want}
	param := func(arg any) string {
		args = append(args, arg)
		return placeholder(len(args))
	}
	spaces := `SELECT $1::text AS namespace`
	if f.Namespace == "" {
		spaces = `(SELECT namespace FROM ` + st.attributes + ` WHERE namespace > $1 ORDER BY namespace LIMIT 1)
			UNION ALL
			SELECT n.* FROM spaces s CROSS JOIN LATERAL (SELECT a.namespace FROM ` + st.attributes +
			` a WHERE a.namespace > s.namespace ORDER BY a.namespace LIMIT 1) AS n`
	}
	// The first that asks for one value leads: its rows are in the order of the list.
	first := max(0, slices.IndexFunc(f.Where, func(c journal.Condition) bool { return c.Operator == "=" }))
	where := `a.namespace = s.namespace AND ` + conditionSQL(&f.Where[first], "a", param) +
		` AND (a.created_at, a.id) < ($2, $3)`
	for i := range f.Where {
		if i != first {
			where += ` AND EXISTS (SELECT FROM ` + st.attributes + ` b WHERE b.shard = a.shard AND b.id = a.id AND ` +
				conditionSQL(&f.Where[i], "b", param) + lookUp
		}
	}
	if f.State != "" || f.Workflow != "" {
		where += ` AND EXISTS (SELECT FROM ` + st.executions +
			` e WHERE e.shard = a.shard AND e.id = a.id AND e.superseded = 0`
		if f.State != "" {
			where += ` AND e.state = ` + param(string(f.State))
		}
		switch {
		case strings.HasSuffix(f.Workflow, "/"):
			where += ` AND starts_with(e.workflow, ` + param(f.Workflow) + `)`
		case f.Workflow != "":
			where += ` AND e.workflow = ` + param(f.Workflow)
		}
		where += lookUp
	}
	return `WITH RECURSIVE spaces AS (` + spaces + `),
		page AS (
			SELECT newest.* FROM spaces s CROSS JOIN LATERAL (SELECT a.created_at AS at, a.id AS place FROM ` +
		st.attributes + ` a
				WHERE ` + where + ` ORDER BY a.created_at DESC, a.id DESC LIMIT $4) AS newest
			ORDER BY at DESC, place DESC LIMIT $4)
		SELECT ` + sqlread.ExecutionColumns + ` FROM page JOIN ` + st.executions + ` e
			ON e.shard = ` + shardOf("place") + ` AND e.id = place AND e.superseded = 0
		ORDER BY at DESC, place DESC`, args
}

// conditionSQL renders a condition on a row. The operator is one of five.
func conditionSQL(c *journal.Condition, table string, param func(any) string) string {
	row := table + `.name = ` + param(c.Name) + ` AND ` + table + `.type = ` + param(c.Value.Type)
	if !c.OfText() {
		return row + ` AND ` + table + `.text = '' AND ` + table + `.number ` + c.Operator + ` ` + param(c.Value.Number)
	}
	row += ` AND ` + table + `.text ` + c.Operator + ` ` + param(c.Value.Text)
	if c.Operator == "=" {
		row += ` AND ` + table + `.number = 0`
	}
	return row
}

func placeholder(n int) string { return "$" + strconv.Itoa(n) }
