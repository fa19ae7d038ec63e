package sqlread

import (
	"context"

	"github.com/cruster/cruster/journal"
)

// Module implements journal.Store.
func (r *Reader) Module(ctx context.Context, digest string) (*journal.Module, error) {
	if r.queries.CheckText(digest) != nil {
		return nil, journal.ErrNotFound
	}
	return One(ctx, r, scanModule, "module", digest, r.queries.Module, digest)
}

// Digests implements journal.Store.
func (r *Reader) Digests(ctx context.Context, prefix string, limit int) ([]string, error) {
	if r.queries.CheckText(prefix) != nil {
		return nil, nil
	}
	return All(ctx, r, scanText, "modules", nil, r.queries.Digests, prefix, limit)
}

// Deployment implements journal.Store.
func (r *Reader) Deployment(ctx context.Context, namespace, name string) (*journal.Deployment, error) {
	if r.queries.CheckText(namespace, name) != nil {
		return nil, journal.ErrNotFound
	}
	return One(ctx, r, scanDeployment, "deployment", name, r.queries.Deployment, namespace, name)
}

// Deployments implements journal.Store.
func (r *Reader) Deployments(ctx context.Context, namespace string) ([]journal.Deployment, error) {
	if r.queries.CheckText(namespace) != nil {
		return nil, nil
	}
	return All(ctx, r, scanDeployment, "deployments of namespace", namespace, r.queries.Deployments, namespace)
}

// Schedule implements journal.Store.
func (r *Reader) Schedule(ctx context.Context, id journal.ID) (*journal.Schedule, error) {
	return One(ctx, r, scanSchedule, "schedule", &id, r.queries.Schedule, int16(id.Shard()), (*ID)(&id))
}

// Schedules implements journal.Store.
func (r *Reader) Schedules(ctx context.Context, namespace, after string, limit int) ([]journal.Schedule, error) {
	if r.queries.CheckText(namespace, after) != nil {
		return nil, nil
	}
	return All(ctx, r, scanListedSchedule, "schedules", nil, r.queries.Schedules, namespace, after, max(limit, 0))
}
