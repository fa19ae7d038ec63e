-- Runs that went aside when another one took their place.

-- +goose Up

ALTER TABLE executions
    ADD COLUMN earlier_of bytea, -- the execution that the run went aside from
    ADD COLUMN request    bytea; -- what has asked for the run, if that may be repeated

-- What went aside is not listed.
DROP INDEX executions_strand;
CREATE INDEX executions_strand ON executions (namespace, workflow, state, created_at DESC, id DESC) WHERE earlier_of IS NULL;
CREATE INDEX executions_earlier ON executions (earlier_of, created_at DESC, id DESC) WHERE earlier_of IS NOT NULL;
CREATE INDEX executions_request ON executions (earlier_of, request) WHERE earlier_of IS NOT NULL AND request IS NOT NULL;

-- +goose Down
DROP INDEX executions_request, executions_earlier, executions_strand;
CREATE INDEX executions_strand ON executions (namespace, workflow, state, created_at DESC, id DESC);
ALTER TABLE executions DROP COLUMN request, DROP COLUMN earlier_of;
