-- Indexes of what is scanned by time begin with the shard, so that a host which owns some of the shards reads nothing of
-- others: see "Why do indexes of times begin with the shard?" in RATIONALE.md.
--
-- The indexes that these replace are dropped here, not in a later step. A host of the version before that is at work reads the
-- same rows without them, more slowly, until the host that has applied this step claims its shards.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;

-- What wakes next; only what is running can wake.
DROP INDEX CONCURRENTLY IF EXISTS executions_due;
CREATE INDEX CONCURRENTLY executions_due ON executions (shard, wake_at, id) WHERE state = 'running';
DROP INDEX CONCURRENTLY IF EXISTS executions_wake;

-- Two for retention: what it looks at, oldest first, and holders that are over.
DROP INDEX CONCURRENTLY IF EXISTS executions_expired;
CREATE INDEX CONCURRENTLY executions_expired ON executions (shard, finished_at, id, superseded) WHERE finished_at > 0 AND held_by IS NULL AND NOT holds;
DROP INDEX CONCURRENTLY IF EXISTS executions_finished;
DROP INDEX CONCURRENTLY IF EXISTS executions_over;
CREATE INDEX CONCURRENTLY executions_over ON executions (shard) WHERE holds AND finished_at > 0;
DROP INDEX CONCURRENTLY IF EXISTS executions_holders;

DROP INDEX CONCURRENTLY IF EXISTS receipts_old;
CREATE INDEX CONCURRENTLY receipts_old ON receipts (shard, at, id, origin) WHERE NOT held;
DROP INDEX CONCURRENTLY IF EXISTS receipts_at;

DROP INDEX CONCURRENTLY IF EXISTS schedules_due;
CREATE INDEX CONCURRENTLY schedules_due ON schedules (shard, wake_at, id);
DROP INDEX CONCURRENTLY IF EXISTS schedules_wake;

-- Runs whose rows can be deleted.
DROP INDEX CONCURRENTLY IF EXISTS retired_free;
CREATE INDEX CONCURRENTLY retired_free ON retired (shard, run) WHERE NOT holds;

-- Mail that owners have not looked at is found piece by piece, each behind the one before: results, and the requests to stop of step 11.
DROP INDEX CONCURRENTLY IF EXISTS inbox_mail;
CREATE INDEX CONCURRENTLY inbox_mail ON inbox (shard, id, chain, position) WHERE kind IN ('result', 'interrupt', 'terminate');
DROP INDEX CONCURRENTLY IF EXISTS inbox_results;

-- The run comes first, also in stores that step 9 was applied to when it did not: see there.
DROP INDEX CONCURRENTLY IF EXISTS executions_run_first;
CREATE UNIQUE INDEX CONCURRENTLY executions_run_first ON executions (run, shard, finished_at);
DROP INDEX CONCURRENTLY IF EXISTS executions_run;
ALTER INDEX executions_run_first RENAME TO executions_run;

-- Rows of these, too, are replaced or deleted soon after they come. They are vacuumed by numbers, or by a small share where
-- many may be there for long.
ALTER TABLE attributes SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE deferreds SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE entities SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE entries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE given_up SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE heartbeat SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE hibernated SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
ALTER TABLE links SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE locks SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE published SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE schedules SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
RESET lock_timeout;

-- +goose Down
-- There is no way back: see step 9.
