package postgres

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/journal/postgres/guestsql"
)

const (
	// migrationLimit bounds each statement of a migration, and how long it waits for the transactions of activities
	// that use the table.
	migrationLimit = time.Minute
	// deployLimit bounds all the migrations of a deployment together.
	deployLimit = 5 * time.Minute
)

// Deploy implements journal.Store.
func (s *Store) Deploy(
	ctx context.Context, f journal.Fence, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	for _, text := range []string{m.Digest, d.Namespace, d.Name, d.Digest} {
		if !isText(text) {
			return journal.Deployment{}, abi.Errorf(abi.CodeBadDeployment, "%q is not text", text)
		}
	}
	steps, err := pickSteps(d.Name, migrations)
	if err != nil {
		return journal.Deployment{}, err
	}
	// Migrations are the guest's code and may take long. They use a connection of the guests, one at a time, so that
	// however many are pushed the journal has its own connections and activities have most of theirs.
	select {
	case s.deploying <- struct{}{}:
		defer func() { <-s.deploying }()
	case <-ctx.Done():
		return journal.Deployment{}, fmt.Errorf("postgres: deploy %s: %w", d.Name, ctx.Err())
	}
	ctx, cancel := context.WithTimeoutCause(ctx, deployLimit,
		abi.Errorf(abi.CodeMigrationFailed, "the migrations of deployment %q took longer than %v", d.Name, deployLimit))
	defer cancel()
	// Not in the transaction of the deployment: an activity of the namespace would wait for its migrations.
	if err := s.ensureNamespace(ctx, d.Namespace); err != nil {
		return journal.Deployment{}, fmt.Errorf("postgres: deploy %s: %w", d.Name, err)
	}
	conn, err := s.acquire(ctx, s.guests)
	if err != nil {
		return journal.Deployment{}, fmt.Errorf("postgres: deploy %s: %w", d.Name, err)
	}
	defer s.give(conn)
	err = s.deploy(ctx, conn.Conn(), f, &m, &d, steps)
	if conn.Conn().IsClosed() && ctx.Err() == nil {
		s.guests.Reset() // see use
	}
	// Also if it failed: its COMMIT may have got through.
	s.params.forget(d.Namespace)
	op := fmt.Sprintf("postgres: deploy %s", d.Name)
	switch {
	case err == nil:
		return d, nil
	case sqlState(err) == stateFenced:
		return journal.Deployment{}, fmt.Errorf("%s: %w", op, journal.ErrFenced)
	case errors.Is(err, journal.ErrUndecided), ctx.Err() == nil:
		return journal.Deployment{}, beforeCommit(op, err)
	}
	return journal.Deployment{}, fmt.Errorf("%s: %w", op, context.Cause(ctx))
}

// deploy makes the deployment in one transaction. Each statement has a limit of its own: statements of the module may
// take long, ours may not.
//
// The fence is looked at first, so that a host that lost its shards does not begin, and again at the end, with a lock:
// were it held from the start, a claim would have to wait for the migrations.
func (s *Store) deploy(
	ctx context.Context, conn *pgx.Conn, f journal.Fence, m *journal.Module, d *journal.Deployment,
	steps []abi.Migration,
) error {
	ours := func(call func(ctx context.Context) error) error { return inTime(ctx, s.config.CallLimit, call) }
	var tx pgx.Tx
	if err := ours(func(ctx context.Context) (err error) {
		tx, err = conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
		return err
	}); err != nil {
		return err
	}
	defer s.rollback(ctx, conn)
	if err := ours(func(ctx context.Context) error {
		_, err := tx.Exec(ctx, stmtFenceLook, int16(d.Shard()), int64(f.Epoch), f.Token[:])
		return err
	}); err != nil {
		return err
	}
	// Pushes into one namespace go one after the other.
	if err := inTime(ctx, migrationLimit, func(ctx context.Context) error {
		_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, lockKey("deploy", s.config.Schema, d.Namespace))
		return err
	}); err != nil {
		return err
	}
	if err := inTime(ctx, migrationLimit, func(ctx context.Context) error { // the binary may be large and the way slow
		// An existing module stays, and a damaged one is repaired.
		_, err := tx.Exec(
			ctx,
			`INSERT INTO `+s.sql.modules+` AS m (digest, wasm, manifest, created_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (digest) DO UPDATE SET wasm = excluded.wasm, manifest = excluded.manifest
				WHERE m.wasm <> excluded.wasm`,
			m.Digest,
			notNil(m.Binary),
			notNil(m.Manifest),
			m.CreatedAt,
		)
		return err
	}); err != nil {
		return err
	}
	for i := range steps {
		if err := s.applyStep(ctx, tx, d, &steps[i]); err != nil {
			return err
		}
	}
	if err := ours(func(ctx context.Context) error {
		return tx.QueryRow(
			ctx,
			`INSERT INTO `+s.sql.deployments+` AS d (namespace, name, digest, version, config, allow_http, updated_at)
			VALUES ($1, $2, $3, 1, $4, $5, $6)
			ON CONFLICT (namespace, name) DO UPDATE SET digest = excluded.digest, version = d.version + 1,
				config = excluded.config, allow_http = excluded.allow_http, updated_at = excluded.updated_at
			RETURNING version`,
			d.Namespace,
			d.Name,
			d.Digest,
			abi.MustMarshal(d.Config),
			abi.MustMarshal(d.AllowHTTP),
			d.UpdatedAt,
		).Scan(&d.Version)
	}); err != nil {
		return err
	}
	return ours(func(ctx context.Context) error {
		b := &pgx.Batch{}
		b.Queue(stmtFenceRow, int16(d.Shard()), int64(f.Epoch), f.Token[:])
		return s.sendWithCommit(ctx, conn, b)
	})
}

// pickSteps selects the migrations of our dialect, in order of their versions.
func pickSteps(deployment string, migrations []abi.Migration) ([]abi.Migration, error) {
	var steps []abi.Migration
	for _, m := range migrations {
		if m.Dialect == abi.DialectAny || m.Dialect == abi.DialectPostgres {
			steps = append(steps, m)
		}
	}
	slices.SortStableFunc(steps, func(a, b abi.Migration) int {
		switch {
		case a.Version < b.Version:
			return -1
		case a.Version > b.Version:
			return 1
		}
		return 0
	})
	for i := 1; i < len(steps); i++ {
		if steps[i].Version == steps[i-1].Version {
			return nil, abi.Errorf(
				abi.CodeMigrationFailed, "migration %d of deployment %q is there twice", steps[i].Version, deployment,
			)
		}
	}
	return steps, nil
}

// applyStep runs a migration under the guest's role, unless it was before.
func (s *Store) applyStep(ctx context.Context, tx pgx.Tx, d *journal.Deployment, m *abi.Migration) error {
	sum := sha256.Sum256([]byte(m.SQL))
	if applied, err := s.isApplied(ctx, tx, d, m, sum[:]); applied || err != nil {
		return err
	}
	if !isText(m.Name) {
		return migrationFailed(d, m, "has a name that is not text")
	}
	// Asked beforehand: in a transaction that has failed nothing can be.
	var by string
	if err := inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
		return tx.QueryRow(
			ctx,
			`SELECT coalesce(min(deployment), '') FROM `+s.sql.guestMigrations+
				` WHERE namespace = $1 AND deployment <> $2 AND checksum = $3`,
			d.Namespace, d.Name, sum[:],
		).Scan(&by)
	}); err != nil {
		return err
	}
	statements, err := readStatements(d, m)
	if err != nil {
		return err
	}
	if err := s.runStatements(ctx, tx, d, m, statements, by); err != nil {
		return err
	}
	return inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
		_, err := tx.Exec(
			ctx,
			`INSERT INTO `+s.sql.guestMigrations+` (namespace, deployment, version, name, checksum, applied_at)
			VALUES ($1, $2, $3, $4, $5, now())`,
			d.Namespace,
			d.Name,
			m.Version,
			m.Name,
			sum[:],
		)
		return err
	})
}

func migrationFailed(d *journal.Deployment, m *abi.Migration, format string, args ...any) error {
	return abi.Errorf(
		abi.CodeMigrationFailed, "migration %d (%s) of deployment %q %s", m.Version, m.Name, d.Name,
		fmt.Sprintf(format, args...),
	)
}

// isApplied tells whether a migration was applied before. It is an error if that one had another text.
func (s *Store) isApplied(
	ctx context.Context, tx pgx.Tx, d *journal.Deployment, m *abi.Migration, sum []byte,
) (bool, error) {
	var before []byte
	err := inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
		return tx.QueryRow(
			ctx,
			`SELECT checksum FROM `+s.sql.guestMigrations+` WHERE namespace = $1 AND deployment = $2 AND version = $3`,
			d.Namespace, d.Name, m.Version,
		).Scan(&before)
	})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err
	case !bytes.Equal(before, sum):
		return false, migrationFailed(d, m, "was applied before with another text")
	default:
		return true, nil
	}
}

// readStatements splits a migration, and refuses forbidden ones.
func readStatements(d *journal.Deployment, m *abi.Migration) ([]string, error) {
	statements, err := guestsql.SplitMigration(m.SQL)
	if err != nil {
		return nil, migrationFailed(d, m, "is not readable: %s", abi.AsError(err).Message)
	}
	for i, stmt := range statements {
		if err := guestsql.CheckMigration(stmt); err != nil {
			return nil, migrationFailed(d, m, "is refused in statement %d: %s", i+1, abi.AsError(err).Message)
		}
	}
	return statements, nil
}

// runStatements runs the statements of a migration as the role of the namespace. By is another deployment
// that has applied the same text; empty if there is none.
func (s *Store) runStatements(
	ctx context.Context, tx pgx.Tx, d *journal.Deployment, m *abi.Migration, statements []string, by string,
) error {
	role := guestName(s.config.Schema, d.Namespace)
	limit := strconv.FormatInt(migrationLimit.Milliseconds(), 10)
	if err := inTime(ctx, s.config.CallLimit, func(ctx context.Context) error {
		_, err := tx.Exec(ctx, confineSQL, searchPath(role), limit, limit)
		return err
	}); err != nil {
		return err
	}
	for i, stmt := range statements {
		err := inTime(ctx, migrationLimit+s.config.CallLimit, func(ctx context.Context) error {
			return s.runStep(ctx, tx.Conn(), role, stmt)
		})
		switch {
		case isConflict(err):
			return err
		case sqlState(err) == stateDuplicateTable:
			return journal.NameTaken(d, m, fmt.Sprintf("a name in statement %d is taken: %s", i+1, messageOf(err)), by)
		case err != nil:
			return migrationFailed(d, m, "failed in statement %d: %s", i+1, messageOf(err))
		}
	}
	return nil
}

// runStep runs one statement as the guest and returns to our own role. The statement goes without parameters and
// through no cache of plans.
func (s *Store) runStep(ctx context.Context, conn *pgx.Conn, role, stmt string) error {
	b := &pgconn.Batch{}
	queueRaw(b, setRole(role))
	queueRaw(b, stmt)
	queueRaw(b, whoAmI)
	queueRaw(b, setRole(""))
	results, err := conn.PgConn().ExecBatch(ctx, b).ReadAll()
	if err != nil {
		return err
	}
	if user := string(results[2].Rows[0][0]); user != role {
		return refused(user)
	}
	return nil
}

func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
