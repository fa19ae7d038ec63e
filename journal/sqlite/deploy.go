package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Deploy implements journal.Store.
func (s *Store) Deploy(
	ctx context.Context, f journal.Fence, m journal.Module, d journal.Deployment, steps []abi.Migration,
) (journal.Deployment, error) {
	if err := s.deploy(ctx, f, &m, &d, steps); err != nil {
		return journal.Deployment{}, fmt.Errorf("sqlite: deploy %q: %w", d.Name, err)
	}
	return d, nil
}

func (s *Store) deploy(
	ctx context.Context, f journal.Fence, m *journal.Module, d *journal.Deployment, steps []abi.Migration,
) error {
	// A deployment waits like a module, although it is not preempted: so the journal goes between two deployments,
	// however many wait.
	if err := s.queue.acquire(ctx, guestUser); err != nil {
		return err
	}
	defer s.queue.release()
	ctx, cancel := context.WithTimeoutCause(ctx, s.config.MigrationLimit,
		abi.Errorf(
			abi.CodeMigrationFailed, "the migrations of deployment %q took longer than %v", d.Name,
			s.config.MigrationLimit,
		))
	defer cancel()
	if err := s.begin(); err != nil {
		return err
	}
	defer rollback(s.writer)
	if err := checkFence(s.writer, f, d.Shard()); err != nil {
		return err
	}
	if err := insertModule(s.writer, m); err != nil {
		return fmt.Errorf("module %s: %w", m.Digest, err)
	}
	// The tables that the migrations make belong to the namespace only if the transaction commits.
	undo := s.sandbox.Stage()
	err := s.migrateGuest(ctx, d, steps)
	if err == nil {
		err = upsertDeployment(s.writer, d)
	}
	if err == nil {
		err = s.commit()
	}
	if err != nil {
		undo()
	}
	return err
}

// insertModule keeps an existing module, and repairs a damaged one.
func insertModule(conn *sqlite.Conn, m *journal.Module) error {
	return exec(conn,
		`INSERT INTO cruster_modules (digest, manifest, created_at, binary) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (digest) DO UPDATE SET binary = excluded.binary, manifest = excluded.manifest
			WHERE binary <> excluded.binary`,
		m.Digest,
		m.Manifest,
		m.CreatedAt,
		m.Binary,
	)
}

func upsertDeployment(conn *sqlite.Conn, d *journal.Deployment) error {
	return run(
		conn,
		`INSERT INTO cruster_deployments (namespace, name, digest, version, config, allow_http, updated_at)
			VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6)
		ON CONFLICT (namespace, name) DO UPDATE SET digest = excluded.digest, version = version + 1,
			config = excluded.config, allow_http = excluded.allow_http, updated_at = excluded.updated_at
		RETURNING version`,
		values(d.Namespace, d.Name, d.Digest, abi.MustMarshal(d.Config), abi.MustMarshal(d.AllowHTTP), d.UpdatedAt),
		func(row *sqlite.Stmt) error {
			d.Version = row.ColumnInt64(0)
			return nil
		},
	)
}
