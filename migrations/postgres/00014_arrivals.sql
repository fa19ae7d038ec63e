-- +goose Up

-- A message that is received is counted in the row of its execution: an update by an owner who knows of fewer leaves the wake time
-- that the message has brought. A host of the version before would not count: another epoch fences it.
SET LOCAL lock_timeout = '3s';
LOCK TABLE shards, executions IN ACCESS EXCLUSIVE MODE;
UPDATE shards SET epoch = epoch + 1 WHERE epoch > 0;
ALTER TABLE executions ADD COLUMN arrivals bigint NOT NULL DEFAULT 0;

-- +goose Down
-- There is no way back: a version that does not count refuses the schema.
