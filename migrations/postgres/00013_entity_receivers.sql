-- Entities with messages are found without a look at what executions were settled with.

-- +goose NO TRANSACTION
-- +goose Up
SET lock_timeout = 0;
DROP INDEX CONCURRENTLY IF EXISTS inbox_entities;
CREATE INDEX CONCURRENTLY inbox_entities ON inbox (shard, id) WHERE chain = '' AND parked IS NULL;

-- +goose Down
DROP INDEX inbox_entities;
