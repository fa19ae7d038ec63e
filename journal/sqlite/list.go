package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/sqlread"
)

// A list is newest first, of any workflow, deployment and state. The naive query walks through the namespace by time
// and passes over rows that do not fit: all of a million executions, to find the three that are paused. An index for
// each combination of filters would be written with each execution.
//
// There is one index, by workflow, state and time. Within it the executions of one workflow and state stand together,
// in the order of the list. There are few such pairs, at most five for each workflow that was deployed: they are found
// by leaping from each to the next. A page is merged of the newest of each pair that fits.
const (
	selectNextWorkflowState = `SELECT namespace, workflow, state FROM cruster_executions
		WHERE superseded = 0 AND (namespace, workflow, state) >= (?1, ?2, ?3) ORDER BY namespace, workflow, state
			LIMIT 1`
	selectOfWorkflowState = `SELECT created_at, id FROM cruster_executions
		WHERE superseded = 0 AND namespace = ?1 AND workflow = ?2 AND state = ?3 AND (created_at, id) < (?4, ?5)
			AND (created_at, id) > (?6, ?7)
		ORDER BY created_at DESC, id DESC LIMIT +?8`
	selectListed = "SELECT " + sqlread.ExecutionColumns + ` FROM cruster_executions e
		WHERE e.shard = ?1 AND e.id = ?2 AND e.superseded = 0`
)

// List implements journal.Store.
func (s *Store) List(ctx context.Context, f journal.Filter) (journal.Page, error) {
	limit, after, err := f.Bounds()
	if err != nil {
		return journal.Page{}, err
	}
	l := listing{filter: f, want: limit + 1, before: place{after.At, after.ID[:]}, beyond: place{math.MinInt64, nil}}
	if f.After == "" {
		l.before = newestPlace
	}
	var rows []journal.Execution
	err = s.read(ctx, func(conn *sqlite.Conn) error {
		l.conn = conn
		conn.SetInterrupt(ctx.Done())
		defer conn.SetInterrupt(nil)
		// All that is read is of one moment.
		if err := run(conn, "BEGIN", nil, nil); err != nil {
			return err
		}
		defer rollback(conn)
		rows, err = l.read()
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return journal.Page{}, fmt.Errorf("sqlite: list executions: %w", err)
	}
	return journal.PageOf(rows, limit), nil
}

// place is where an execution stands in a list.
type place struct {
	at int64
	id []byte
}

// newestPlace is in front of all.
var newestPlace = place{math.MaxInt64, bytes.Repeat([]byte{0xff}, len(journal.ID{})+1)}

// workflowState names the executions of one workflow in one state.
type workflowState struct{ namespace, workflow, state string }

// listing is a list under way.
type listing struct {
	conn   *sqlite.Conn
	filter journal.Filter
	want   int
	before place // the page begins behind it
	// beyond is the last of the newest that were found, if they are enough.
	beyond place
	found  []place
}

func (l *listing) read() (rows []journal.Execution, err error) {
	merge := l.mergeWorkflowStates
	if len(l.filter.Where) > 0 {
		merge = l.mergeWhere
	}
	if err := merge(); err != nil {
		return nil, err
	}
	r := &row{}
	for _, p := range l.found {
		err := run(l.conn, selectListed, values(journal.ID(p.id)), func(stmt *sqlite.Stmt) error {
			r.stmt = stmt
			rows = append(rows, journal.Execution{})
			return sqlread.ScanListed(r, &rows[len(rows)-1])
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func (l *listing) mergeWorkflowStates() error {
	at := workflowState{namespace: l.filter.Namespace}
	if at.namespace != "" {
		at.workflow = l.filter.Workflow
	}
	for {
		next, err := l.nextWorkflowState(at)
		if err != nil || next == nil {
			return err
		}
		at = *next
		switch fits := l.fits(at.workflow); {
		case l.filter.Namespace != "" && (at.namespace != l.filter.Namespace || !fits):
			return nil
		case !fits || l.filter.State != "" && at.state != string(l.filter.State):
			continue
		}
		if err := l.merge(at); err != nil {
			return err
		}
	}
}

func (l *listing) fits(workflow string) bool {
	if strings.HasSuffix(l.filter.Workflow, "/") {
		return strings.HasPrefix(workflow, l.filter.Workflow)
	}
	return l.filter.Workflow == "" || workflow == l.filter.Workflow
}

func (l *listing) nextWorkflowState(after workflowState) (next *workflowState, err error) {
	err = run(l.conn, selectNextWorkflowState, func(stmt *sqlite.Stmt) {
		stmt.BindText(1, after.namespace)
		stmt.BindText(2, after.workflow)
		// The least text behind it: with > SQLite would walk through all executions of that state.
		stmt.BindText(3, after.state+"\x00")
	}, func(row *sqlite.Stmt) error {
		next = &workflowState{row.ColumnText(0), row.ColumnText(1), row.ColumnText(2)}
		return nil
	})
	return next, err
}

// merge adds the newest of a workflow in one state to the results.
func (l *listing) merge(s workflowState) error {
	return l.add(run, selectOfWorkflowState, func(stmt *sqlite.Stmt) {
		stmt.BindText(1, s.namespace)
		stmt.BindText(2, s.workflow)
		stmt.BindText(3, s.state)
		l.bindBounds(stmt, 4)
	})
}

// bindBounds binds where a page begins and ends, and its size, to five parameters.
func (l *listing) bindBounds(stmt *sqlite.Stmt, param int) {
	stmt.BindInt64(param, l.before.at)
	stmt.BindBytes(param+1, l.before.id)
	stmt.BindInt64(param+2, l.beyond.at)
	stmt.BindBytes(param+3, l.beyond.id)
	stmt.BindInt64(param+4, int64(l.want))
}

// runner is run or runOnce.
type runner func(conn *sqlite.Conn, query string, bind func(*sqlite.Stmt), each func(*sqlite.Stmt) error) error

// add adds the rows of a query.
func (l *listing) add(run runner, query string, bind func(*sqlite.Stmt)) error {
	err := run(l.conn, query, bind, func(row *sqlite.Stmt) error {
		l.found = append(l.found, place{row.ColumnInt64(0), blob(row, 1)})
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(l.found, func(a, b place) int { return cmp.Or(cmp.Compare(b.at, a.at), bytes.Compare(b.id, a.id)) })
	if len(l.found) >= l.want {
		l.found = l.found[:l.want]
		l.beyond = l.found[l.want-1]
	}
	return nil
}
