-- +goose Up

-- Settled deferreds are messages in an inbox of their run, whose chain is the run with its halves exchanged. The origin is derived
-- from the name; in front of the value is who settled, and whether it is a value (0) or an error (1). The function is one
-- of the handle that migrates. What runs had that are gone goes with the table.
INSERT INTO cruster_inbox (shard, id, position, chain, origin, kind, name, at, flags, bytes, value)
SELECT shard, id, (SELECT coalesce(max(position), 0) FROM cruster_inbox) + row_number() OVER (ORDER BY shard, id, superseded DESC, at, name),
    CAST(substr(run, 9) || substr(run, 1, 8) AS BLOB), cruster_origin_of_deferred(name), 'settle', name, at, 0, length(value), value
FROM (
    SELECT d.shard, e.id, e.superseded, d.run, d.name, d.at,
        CAST(d.origin || CASE WHEN d.error IS NULL THEN x'00' ELSE x'01' END || coalesce(d.error, d.value, x'') AS BLOB) AS value
    FROM cruster_deferreds d JOIN cruster_executions e ON e.shard = d.shard AND e.run = d.run);
DROP TABLE cruster_deferreds;

-- Entities with messages are found without a look at what executions were settled with.
CREATE INDEX cruster_inbox_entities ON cruster_inbox (shard, id) WHERE chain = x'' AND parked IS NULL;

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the store.
