package sqlite

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

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
