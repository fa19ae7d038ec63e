package postgres

import (
	"bytes"
	"context"
	"math"
	"strings"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// List implements journal.Store. How few rows it looks at, whatever the filter, is described above the List of the
// embedded store, which works alike.
func (s *Store) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	limit, after, err := f.Bounds()
	if err != nil {
		return journal.Page{}, err
	}
	if err := s.sql.reads.CheckText(f.Namespace, f.Workflow, string(f.State)); err != nil {
		return journal.Page{}, err
	}
	query, args := s.sql.listQuery(f, limit+1, after)
	if len(f.Where) > 0 {
		query, args = s.sql.whereQuery(f, limit+1, after)
	}
	rows, err := sqlread.All(ctx, s.reader, sqlread.ScanListed, "executions", nil, query, args...)
	if err != nil {
		return journal.Page{}, err
	}
	return journal.PageOf(rows, limit), nil
}

func (st *statements) listQuery(f journal.Filter, want int, after journal.Wake) (string, []any) {
	at, id := pageBegin(&f, after)
	fits := `workflow = $2`
	if f.Workflow == "" || strings.HasSuffix(f.Workflow, "/") {
		fits = `starts_with(workflow, $2)`
	}
	// Within one namespace the walk over the workflows and states ends behind the fitting ones.
	first, last := `($1, $2, '')`, `n.namespace = $1 AND `+strings.ReplaceAll(fits, "workflow", "n.workflow")
	if f.Namespace == "" {
		first, last = `('', '', '')`, `$1 = ''`
	}
	return `WITH RECURSIVE workflow_states AS (
			(SELECT namespace, workflow, state FROM ` + st.executions + `
				WHERE superseded = 0 AND (namespace, workflow, state) > ` + first +
		` ORDER BY namespace, workflow, state LIMIT 1)
			UNION ALL
			SELECT n.* FROM workflow_states s CROSS JOIN LATERAL (SELECT e.namespace, e.workflow, e.state FROM ` +
		st.executions + ` e
				WHERE e.superseded = 0 AND (e.namespace, e.workflow, e.state) > (s.namespace, s.workflow, s.state)
					ORDER BY e.namespace, e.workflow, e.state LIMIT 1) AS n
			WHERE ` + last + `),
		page AS (
			SELECT newest.* FROM workflow_states s CROSS JOIN LATERAL (SELECT e.created_at AS at, e.id AS place FROM ` +
		st.executions + ` e
				WHERE e.superseded = 0 AND e.namespace = s.namespace AND e.workflow = s.workflow AND e.state = s.state
					AND (e.created_at, e.id) < ($3, $4)
				ORDER BY e.created_at DESC, e.id DESC LIMIT $5) AS newest
			WHERE ($1 = '' OR s.namespace = $1) AND ` + strings.ReplaceAll(fits, "workflow", "s.workflow") +
		` AND ($6 = '' OR s.state = $6)
			ORDER BY at DESC, place DESC LIMIT $5)
		SELECT ` + sqlread.ExecutionColumns + ` FROM page JOIN ` + st.executions + ` e
			ON e.shard = ` + shardOf("place") + ` AND e.id = place AND e.superseded = 0
		ORDER BY at DESC, place DESC`, []any{f.Namespace, f.Workflow, at, id, want, string(f.State)}
}

// pageBegin is the place behind which a page begins.
func pageBegin(f *journal.Filter, after journal.Wake) (at int64, id []byte) {
	if f.After == "" {
		return math.MaxInt64, bytes.Repeat([]byte{0xff}, len(after.ID)+1)
	}
	return after.At, after.ID[:]
}
