-- +goose Up

-- A message that is received is counted in the row of its execution: an update by an owner who knows of fewer leaves the wake time
-- that the message has brought.
ALTER TABLE cruster_executions ADD COLUMN arrivals INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE cruster_executions DROP COLUMN arrivals;
