-- +goose Up

-- The execution that a run went aside from when another one took its place, and the request
-- that has started the run.
ALTER TABLE cruster_executions ADD COLUMN earlier_of BLOB;
ALTER TABLE cruster_executions ADD COLUMN request BLOB;

-- What went aside is not listed.
DROP INDEX cruster_executions_strand;
CREATE INDEX cruster_executions_strand ON cruster_executions (namespace, workflow, state, created_at, id) WHERE earlier_of IS NULL;
CREATE INDEX cruster_executions_earlier ON cruster_executions (earlier_of, created_at, id) WHERE earlier_of IS NOT NULL;
CREATE INDEX cruster_executions_request ON cruster_executions (earlier_of, request) WHERE earlier_of IS NOT NULL AND request IS NOT NULL;

-- +goose Down
DROP INDEX cruster_executions_request;
DROP INDEX cruster_executions_earlier;
DROP INDEX cruster_executions_strand;
CREATE INDEX cruster_executions_strand ON cruster_executions (namespace, workflow, state, created_at, id);
ALTER TABLE cruster_executions DROP COLUMN request;
ALTER TABLE cruster_executions DROP COLUMN earlier_of;
