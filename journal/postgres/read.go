package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

const executionColumns = `id, namespace, workflow, key, digest, input, state, value, ` + rowColumns

const rowColumns = `error, wake_at, interrupt, parent, parent_run, parent_step, created_at, finished_at, run, waiting, pinned, moved_at, section, ` +
	`coalesce(chain, run), continued, superseded, request, arrivals`

// pageColumns are the same without the payloads, which pages leave out.
const pageColumns = `id, namespace, workflow, key, digest, NULL::bytea, state, NULL::bytea, ` + rowColumns

// briefColumns are those of a brief row. The length of a value that is stored out of line is known without it.
var briefColumns = fmt.Sprintf(`id, namespace, workflow, key, digest, CASE WHEN octet_length(input) <= %[1]d THEN input END, state, `+
	`CASE WHEN octet_length(value) <= %[1]d THEN value END, %[2]s, coalesce(octet_length(input), 0), coalesce(octet_length(value), 0)`, journal.MaxBrief, rowColumns)

func scanExecution(row pgx.CollectableRow) (journal.Execution, error) { return scanRow(row) }

func scanBrief(row pgx.CollectableRow) (journal.Execution, error) {
	var sizes journal.Sizes
	e, err := scanRow(row, &sizes.Input, &sizes.Value)
	e.LeftOut = journal.Sizes{Input: sizes.Input - len(e.Input), Value: sizes.Value - len(e.Value)}
	return e, err
}

func scanRow(row pgx.CollectableRow, behind ...any) (journal.Execution, error) {
	var e journal.Execution
	var id, errText, interrupt, parent, parentRun, parentStep, run, waiting, pinned, section, chain, request []byte
	err := row.Scan(append([]any{
		&id, &e.Namespace, &e.Workflow, &e.Key, &e.Digest, &e.Input, &e.State, &e.Value, &errText, &e.WakeAt,
		&interrupt, &parent, &parentRun, &parentStep, &e.CreatedAt, &e.FinishedAt, &run, &waiting, &pinned, &e.MovedAt, &section, &chain, &e.Continued,
		&e.Superseded, &request, &e.Arrivals,
	}, behind...)...)
	if err != nil {
		return e, err
	}
	copy(e.Parent.ID[:], parent)
	copy(e.Parent.Run[:], parentRun)
	copy(e.Parent.Step[:], parentStep)
	copy(e.Run[:], run)
	copy(e.Section[:], section)
	copy(e.Chain[:], chain)
	copy(e.Request[:], request)
	if err := decodeID(id, &e.ID); err != nil {
		return e, err
	}
	if err := abi.Unmarshal(waiting, &e.Waiting); err != nil {
		return e, fmt.Errorf("execution %s: what it waits for: %w", e.ID, err)
	}
	if err := abi.Unmarshal(pinned, &e.Pinned); err != nil {
		return e, fmt.Errorf("execution %s: what is pinned: %w", e.ID, err)
	}
	if e.Error, err = decode[abi.Error](errText); err != nil {
		return e, fmt.Errorf("execution %s: %w", e.ID, err)
	}
	if e.Interrupt, err = decode[journal.Interrupt](interrupt); err != nil {
		return e, fmt.Errorf("execution %s: %w", e.ID, err)
	}
	return e, nil
}

func decodeID(raw []byte, id *journal.ID) error {
	if len(raw) != len(id) {
		return fmt.Errorf("an execution id has %d bytes, not %d", len(raw), len(id))
	}
	copy(id[:], raw)
	return nil
}

// decode reads a column that is NULL for nil.
func decode[T any](raw []byte) (*T, error) {
	if raw == nil {
		return nil, nil
	}
	v := new(T)
	if err := abi.Unmarshal(raw, v); err != nil {
		return nil, fmt.Errorf("%w: %w", journal.ErrCorrupt, err)
	}
	return v, nil
}

// readOne reads a row; journal.ErrNotFound if there is none.
func readOne[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], what, query string, args ...any) (*T, error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, err
	}
	var v T
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		v, err = pgx.CollectOneRow(rows, scan)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, journal.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("postgres: read %s: %w", what, err)
	}
	return &v, nil
}

// read is use for what only reads. A connection may be lost already when it is taken from the
// pool: the server has ended it, or a caller that gave up has spoilt it. Then another one is
// tried, once, because a read can be repeated.
func (s *Store) read(ctx context.Context, call func(ctx context.Context, conn *pgxpool.Conn) error) error {
	lost := false
	once := func() error {
		return s.use(ctx, s.main, s.config.CallLimit, func(ctx context.Context, conn *pgxpool.Conn) error {
			err := call(ctx, conn)
			lost = err != nil && conn.Conn().IsClosed()
			return err
		})
	}
	err := once()
	var silent *silence
	if lost && ctx.Err() == nil && !errors.As(err, &silent) {
		err = once()
	}
	return err
}

// readAll reads rows.
func readAll[T any](ctx context.Context, s *Store, scan pgx.RowToFunc[T], what, query string, args ...any) ([]T, error) {
	if err := s.resolveInDoubt(ctx); err != nil {
		return nil, err
	}
	var all []T
	err := s.read(ctx, func(ctx context.Context, conn *pgxpool.Conn) error {
		rows, err := conn.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		all, err = pgx.AppendRows([]T(nil), rows, scan)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("postgres: read %s: %w", what, err)
	}
	return all, nil
}

// Load implements journal.Store.
func (s *Store) Load(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return readOne(ctx, s, scanExecution, "execution",
		`SELECT `+executionColumns+` FROM `+s.sql.executions+` WHERE shard = $1 AND id = $2 AND superseded = 0`, int16(id.Shard()), id[:])
}

// Brief implements journal.Store.
func (s *Store) Brief(ctx context.Context, id journal.ID) (*journal.Execution, error) {
	return readOne(ctx, s, scanBrief, "row of an execution",
		`SELECT `+briefColumns+` FROM `+s.sql.executions+` WHERE shard = $1 AND id = $2 AND superseded = 0`, int16(id.Shard()), id[:])
}

// BriefRun implements journal.Store.
func (s *Store) BriefRun(ctx context.Context, id journal.ID, run journal.RunID) (*journal.Execution, error) {
	return readOne(ctx, s, scanBrief, "row of run "+run.String(),
		`SELECT `+briefColumns+` FROM `+s.sql.executions+` WHERE shard = $1 AND id = $2 AND (run = $3 OR chain = $3) ORDER BY superseded LIMIT 1`,
		int16(id.Shard()), id[:], run[:])
}

// Callee implements journal.Store.
func (s *Store) Callee(ctx context.Context, step journal.Caller) (*journal.Execution, error) {
	started, err := readOne(ctx, s, scanBrief, "callee",
		`SELECT `+briefColumns+` FROM `+s.sql.executions+` WHERE parent_run = $1 AND parent_step = $2 LIMIT 1`, step.Run[:], step.Step[:])
	if !errors.Is(err, journal.ErrNotFound) {
		return started, err
	}
	link, err := readOne(ctx, s, scanLink, "link",
		`SELECT callee, callee_run FROM `+s.sql.links+` WHERE shard = $1 AND run = $2 AND step = $3`,
		int16(step.ID.Shard()), step.Run[:], step.Step[:])
	if err != nil {
		return nil, err
	}
	e, err := s.BriefRun(ctx, link.Callee, link.Chain)
	if errors.Is(err, journal.ErrNotFound) {
		err = journal.ErrSwept
	}
	return e, err
}

func scanLink(row pgx.CollectableRow) (l journal.Link, err error) {
	var callee, chain []byte
	if err := row.Scan(&callee, &chain); err != nil {
		return l, err
	}
	copy(l.Chain[:], chain)
	return l, decodeID(callee, &l.Callee)
}

// entriesQuery reads a page of a journal. The first row of it may begin before the page.
func (st *statements) entriesQuery() string {
	return `SELECT seq, last, body, more FROM (
			SELECT seq, last, body, lead(seq) OVER page IS NOT NULL AS more, row_number() OVER page AS place,
				sum(octet_length(body)) OVER page AS total
			FROM (SELECT seq, last, body FROM ` + st.entries + ` WHERE shard = $1 AND run = $2 AND last > $3 AND seq >= coalesce(
					(SELECT seq FROM ` + st.entries + ` WHERE shard = $1 AND run = $2 AND seq <= $3 ORDER BY seq DESC LIMIT 1), 0)
				ORDER BY seq LIMIT $4 + 1) AS next
			WINDOW page AS (ORDER BY seq)
		) AS placed WHERE place = 1 OR place <= $4 AND total <= $5 ORDER BY seq`
}

// Entries implements journal.Store. The page is cut by the server: rows that come behind it
// are neither sent nor taken out of line, since the length of a value is known without it.
func (s *Store) Entries(ctx context.Context, run journal.RunKey, after uint64, limit journal.PageLimit) ([]journal.Entry, bool, error) {
	room := limit.Room()
	count, bytes := room.Left()
	type entryRow struct {
		First, Last int64
		Body        []byte
		More        bool
	}
	rows, err := readAll(ctx, s, pgx.RowToStructByPos[entryRow], "journal of run "+run.Run.String(), s.sql.entriesQuery(),
		int16(run.Shard), run.Run[:], int64(min(after, 1<<63-1)), int64(count), int64(bytes))
	if err != nil {
		return nil, false, err
	}
	page := journal.NewEntryPage(after, limit)
	for _, row := range rows {
		more, err := page.Add(uint64(row.First), uint64(row.Last), row.Body)
		if err != nil {
			return nil, false, fmt.Errorf("postgres: journal of run %s: %w", run.Run, err)
		}
		if !more {
			return page.Entries, page.More, nil
		}
	}
	return page.Entries, len(rows) > 0 && rows[len(rows)-1].More, nil
}

// Hibernated implements journal.Store.
func (s *Store) Hibernated(ctx context.Context, run journal.RunKey) (*journal.Hibernated, error) {
	scan := func(row pgx.CollectableRow) (h journal.Hibernated, err error) {
		var seq int64
		err = row.Scan(&seq, &h.Body)
		h.Seq = uint64(seq)
		return h, err
	}
	found, err := readAll(ctx, s, scan, "saved state of run "+run.Run.String(),
		`SELECT seq, body FROM `+s.sql.hibernated+` WHERE shard = $1 AND run = $2`, int16(run.Shard), run.Run[:])
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, journal.ErrNotFound
	}
	return &found[0], nil
}
