-- Runs whose rows can be deleted are found without a look at those that still hold others.
--
-- Indexes of times do not begin with the shard here, as they do on Postgres: an embedded store has one owner, the process that
-- has it open, and that owns all shards.

-- +goose Up
CREATE INDEX cruster_retired_free ON cruster_retired (shard, run) WHERE holds = 0;

-- Results are looked at piece by piece, each behind the one before.
DROP INDEX cruster_inbox_results;
CREATE INDEX cruster_inbox_results ON cruster_inbox (shard, id, chain, position) WHERE kind = 'result';

-- +goose Down
DROP INDEX cruster_inbox_results;
CREATE INDEX cruster_inbox_results ON cruster_inbox (shard, id) WHERE kind = 'result';
DROP INDEX cruster_retired_free;
