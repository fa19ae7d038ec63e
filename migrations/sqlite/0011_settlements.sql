-- +goose Up

-- Settled deferreds are messages in an inbox of their run, whose chain is the run with its halves exchanged. The origin is derived
-- from the name, by a function of the handle that migrates; who settled stands as the step that it is from; in front of the value is whether it
-- is one (0) or an error (1). What runs had that are gone goes with the table.
INSERT INTO cruster_inbox (shard, id, position, chain, origin, kind, name, at, flags, bytes, sender, sender_run, step, value)
SELECT shard, id, (SELECT coalesce(max(position), 0) FROM cruster_inbox) + row_number() OVER (),
    CAST(substr(run, 9) || substr(run, 1, 8) AS BLOB), cruster_origin_of_deferred(name), 'settle', name, at, 0, length(value),
    CASE WHEN origin <> zeroblob(16) THEN zeroblob(16) END, CASE WHEN origin <> zeroblob(16) THEN zeroblob(16) END, CASE WHEN origin <> zeroblob(16) THEN origin END, value
FROM (
    SELECT d.shard, e.id, d.run, d.name, d.at, d.origin,
        CAST(CASE WHEN d.error IS NULL THEN x'00' ELSE x'01' END || coalesce(d.error, d.value, x'') AS BLOB) AS value
    FROM cruster_deferreds d JOIN cruster_executions e ON e.shard = d.shard AND e.run = d.run);
DROP TABLE cruster_deferreds;

-- Entities with messages are found without a look at what executions were settled with.
CREATE INDEX cruster_inbox_entities ON cruster_inbox (shard, id) WHERE chain = x'' AND parked IS NULL;

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the store.
