package sqlite

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// executionColumns is the order that scanExecution reads in; value and input
// come last because List leaves them out.
const executionColumns = "e.id, e.namespace, e.workflow, e.key, e.digest, e.state, e.error, e.wake_at, e.interrupt, " +
	"e.parent, e.parent_run, e.parent_step, e.created_at, e.finished_at, e.run, e.waiting, e.pinned, e.moved_at, " +
	"e.section, coalesce(e.chain, e.run), e.continued, e.superseded, e.request, e.arrivals"

const (
	withInputs      = " FROM cruster_executions e LEFT JOIN cruster_inputs i ON i.shard = e.shard AND i.run = e.run"
	selectExecution = "SELECT " + executionColumns + ", e.value, i.input" + withInputs
)

// selectBrief reads brief rows. The length of a value is known without the pages that the value is on.
var selectBrief = fmt.Sprintf("SELECT %[1]s, iif(length(e.value) > %[2]d, NULL, e.value), iif(length(i.input) > %[2]d, NULL, i.input), length(e.value), length(i.input)%[3]s",
	executionColumns, journal.MaxBrief, withInputs)

const (
	theCurrent = " WHERE e.shard = ?1 AND e.id = ?2 AND e.superseded = 0"
	theRun     = " WHERE e.shard = ?1 AND e.id = ?2 AND ?3 IN (e.run, e.chain) ORDER BY e.superseded LIMIT 1"
)

func scanExecution(row *sqlite.Stmt) (e journal.Execution, err error) {
	e.ID = columnID(row, 0)
	e.Namespace = row.ColumnText(1)
	e.Workflow = row.ColumnText(2)
	e.Key = row.ColumnText(3)
	e.Digest = row.ColumnText(4)
	e.State = journal.State(row.ColumnText(5))
	if e.Error, err = packed[abi.Error](row, 6); err != nil {
		return e, fmt.Errorf("error of execution %s: %w", e.ID, err)
	}
	e.WakeAt = row.ColumnInt64(7)
	if e.Interrupt, err = packed[journal.Interrupt](row, 8); err != nil {
		return e, fmt.Errorf("interrupt of execution %s: %w", e.ID, err)
	}
	e.Parent.ID = columnID(row, 9)
	row.ColumnBytes(10, e.Parent.Run[:])
	row.ColumnBytes(11, e.Parent.Step[:])
	e.CreatedAt = row.ColumnInt64(12)
	e.FinishedAt = row.ColumnInt64(13)
	row.ColumnBytes(14, e.Run[:])
	if err := unpack(row, 15, &e.Waiting); err != nil {
		return e, fmt.Errorf("execution %s: what it waits for: %w", e.ID, err)
	}
	if err := unpack(row, 16, &e.Pinned); err != nil {
		return e, fmt.Errorf("execution %s: what is pinned: %w", e.ID, err)
	}
	e.MovedAt = uint64(row.ColumnInt64(17))
	row.ColumnBytes(18, e.Section[:])
	row.ColumnBytes(19, e.Chain[:])
	e.Continued = uint32(row.ColumnInt64(20))
	e.Superseded = uint64(row.ColumnInt64(21))
	row.ColumnBytes(22, e.Request[:])
	e.Arrivals = uint64(row.ColumnInt64(23))
	if row.ColumnCount() > 24 {
		e.Value, e.Input = blob(row, 24), blob(row, 25)
	}
	if row.ColumnCount() > 26 {
		e.LeftOut = journal.Sizes{Value: row.ColumnInt(26) - len(e.Value), Input: row.ColumnInt(27) - len(e.Input)}
	}
	return e, nil
}

// Load implements journal.Store.
func (s *Store) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "execution "+id.String(), selectExecution+theCurrent, id)
}

// Brief implements journal.Store.
func (s *Store) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "row of execution "+id.String(), selectBrief+theCurrent, id)
}

// BriefRun implements journal.Store.
func (s *Store) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "row of run "+run.String(), selectBrief+theRun, id, run)
}

var selectStarted = selectBrief + " WHERE e.parent_run = ?1 AND e.parent_step = ?2 LIMIT 1"

const selectLink = "SELECT callee, callee_run FROM cruster_links WHERE shard = ?1 AND run = ?2 AND step = ?3"

// Callee implements journal.Store.
func (s *Store) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	e, err := readOne(ctx, s, scanExecution, "what a step has started", selectStarted, step.Run, step.Step)
	if errors.Is(err, journal.ErrNotFound) {
		return s.linked(ctx, step)
	}
	return e, err
}

// linked reads the execution that a step is linked to.
func (s *Store) linked(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	l, err := readOne(ctx, s, scanLink, "what a step is linked to", selectLink, journal.KeyOf(step.ID, step.Run), step.Step)
	if err != nil {
		return nil, err
	}
	e, err := s.BriefRun(ctx, l.Callee, l.Chain)
	if errors.Is(err, journal.ErrNotFound) {
		err = journal.ErrSwept
	}
	return e, err
}

func scanLink(row *sqlite.Stmt) (journal.Link, error) {
	l := journal.Link{Callee: columnID(row, 0)}
	row.ColumnBytes(1, l.Chain[:])
	return l, nil
}

// Hibernated implements journal.Store.
func (s *Store) Hibernated(ctx context.Context, of journal.RunKey) (*journal.Hibernated, error) {
	return readOne(ctx, s, func(row *sqlite.Stmt) (journal.Hibernated, error) {
		return journal.Hibernated{Seq: uint64(row.ColumnInt64(0)), Body: blob(row, 1)}, nil
	}, "the saved state of run "+of.Run.String(), "SELECT seq, body FROM cruster_hibernated WHERE shard = ?1 AND run = ?2", of)
}

const selectDue = "SELECT id, wake_at FROM cruster_executions WHERE state = 'running' AND wake_at <= ?1 AND (wake_at, id) > (?2, ?3) ORDER BY wake_at, id LIMIT ?4"

// Due implements journal.Store.
func (s *Store) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return readAll(ctx, s, scanWake, "due executions", selectDue, until, after.At, after.ID[:], max(limit, 0))
}

// Module implements journal.Store.
func (s *Store) Module(ctx context.Context, digest string) (*journal.Module, error) {
	return readOne(ctx, s, func(row *sqlite.Stmt) (journal.Module, error) {
		return journal.Module{Digest: digest, Manifest: blob(row, 0), CreatedAt: row.ColumnInt64(1), Binary: blob(row, 2)}, nil
	}, "module "+digest, "SELECT manifest, created_at, binary FROM cruster_modules WHERE digest = ?1", digest)
}

// Digests implements journal.Store.
func (s *Store) Digests(ctx context.Context, prefix string, limit int) ([]string, error) {
	return readAll(ctx, s, scanText, "modules",
		"SELECT digest FROM cruster_modules WHERE digest >= ?1 AND substr(digest, 1, length(?1)) = ?1 ORDER BY digest LIMIT ?2", prefix, limit)
}

const selectDeployment = "SELECT namespace, name, digest, version, config, allow_http, updated_at FROM cruster_deployments"

func scanDeployment(row *sqlite.Stmt) (d journal.Deployment, err error) {
	d.Namespace, d.Name, d.Digest = row.ColumnText(0), row.ColumnText(1), row.ColumnText(2)
	d.Version, d.UpdatedAt = row.ColumnInt64(3), row.ColumnInt64(6)
	if err := abi.Unmarshal(blob(row, 4), &d.Config); err != nil {
		return d, fmt.Errorf("config of deployment %q: %w", d.Name, err)
	}
	if err := abi.Unmarshal(blob(row, 5), &d.AllowHTTP); err != nil {
		return d, fmt.Errorf("grants of deployment %q: %w", d.Name, err)
	}
	return d, nil
}

// Deployment implements journal.Store.
func (s *Store) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	return readOne(ctx, s, scanDeployment, "deployment "+name, selectDeployment+" WHERE namespace = ?1 AND name = ?2", namespace, name)
}

// Deployments implements journal.Store.
func (s *Store) Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error) {
	return readAll(ctx, s, scanDeployment, "deployments of namespace "+namespace, selectDeployment+" WHERE namespace = ?1 ORDER BY name", namespace)
}

// Ping implements journal.Store: it takes the write lock and gives it back, and
// commits something if the disk failed the last commit.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.queue.acquire(ctx, journalUser); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	defer s.queue.release()
	defer rollback(s.writer)
	if err := s.begin(); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	if !s.diskFailed.Load() {
		return nil
	}
	// The disk was full, or worse: only a commit tells whether it still is, and
	// only one that is as large as those of the journal.
	for _, query := range []string{
		"INSERT INTO cruster_meta (name, value) VALUES ('ping', hex(zeroblob(32768)))",
		"DELETE FROM cruster_meta WHERE name = 'ping'",
	} {
		if err := run(s.writer, query, nil, nil); err != nil {
			return fmt.Errorf("sqlite: ping: %w", err)
		}
	}
	if err := s.commit(); err != nil {
		return fmt.Errorf("sqlite: ping: %w", err)
	}
	s.diskFailed.Store(false)
	return nil
}
