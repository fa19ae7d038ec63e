package host

import (
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// ownedModules is the store of the catalog: it reads as any, and writes as the owner of the shards.
type ownedModules struct {
	journal.ModuleStore
	writer *writer
}

func (s ownedModules) Deploy(
	ctx context.Context, m journal.Module, d journal.Deployment, migrations []abi.Migration,
) (journal.Deployment, error) {
	return s.writer.Deploy(ctx, m, d, migrations)
}

// ownedSchedules writes under the fences of this host.
type ownedSchedules struct {
	*writer
	journal.ScheduleStore
}

// SaveSchedule writes a schedule.
func (o ownedSchedules) SaveSchedule(ctx context.Context, s journal.Schedule, most int) error {
	return o.writer.SaveSchedule(ctx, s, most)
}

// DeleteSchedule deletes a schedule.
func (o ownedSchedules) DeleteSchedule(ctx context.Context, id journal.ID, version int64) error {
	return o.writer.DeleteSchedule(ctx, id, version)
}

// dueSchedules lists schedules where executions are listed otherwise.
type dueSchedules struct{ journal.ScheduleStore }

// Due lists schedules by their wake time.
func (d dueSchedules) Due(ctx context.Context, until int64, after journal.Wake, limit int) ([]journal.Wake, error) {
	return d.DueSchedules(ctx, until, after, limit)
}
