-- +goose Up

-- Requests to stop are messages, and the table of what runs have given up goes. A host of the version before writes that table: all
-- locks come first, and another epoch fences it, as in step 9.
SET LOCAL lock_timeout = '3s';
LOCK TABLE shards, executions, inbox, given_up IN ACCESS EXCLUSIVE MODE;
UPDATE shards SET epoch = epoch + 1 WHERE epoch > 0;

-- What runs have given up and not been told: the callees are asked to stop, or are ended, as their callers have said. The value is
-- {"at", "given_up", "reason"} in msgpack. A callee has one request of a kind at most.
INSERT INTO inbox (shard, id, chain, origin, kind, name, at, repeatable, held, bytes, value, sender, sender_run, step)
SELECT shard, id, chain, substring(sha256(convert_to('cruster ' || kind, 'UTF8') || chain) FOR 16), kind, '', at, false, false, octet_length(value), value, caller, caller_run, step
FROM (
    SELECT DISTINCT ON (e.shard, e.id, kind) e.shard, e.id, coalesce(e.chain, e.run) AS chain, kind, g.at,
        '\x83a26174d3'::bytea || int8send(g.at) || '\xa8676976656e5f7570c3a6726561736f6eda'::bytea || int2send(octet_length(g.reason)::int2) || g.reason AS value,
        g.id AS caller, g.run AS caller_run, e.parent_step AS step
    FROM given_up g
    JOIN executions e ON e.parent_run = g.run AND (e.parent_step = g.step OR g.step = '\x00000000000000000000000000000000') AND e.superseded = 0
    CROSS JOIN LATERAL (SELECT CASE
        WHEN position('\xa9'::bytea || 'on_cancel'::bytea || '\xa6'::bytea || 'cancel'::bytea IN e.pinned) > 0 THEN 'interrupt'
        WHEN position('\xa9'::bytea || 'on_cancel'::bytea || '\xa9'::bytea || 'terminate'::bytea IN e.pinned) > 0 THEN 'terminate' END AS kind) AS policy
    WHERE e.state IN ('running', 'paused') AND kind IS NOT NULL AND NOT (kind = 'interrupt' AND e.interrupt IS NOT NULL)
    ORDER BY e.shard, e.id, kind, g.at) AS stops;
DROP TABLE given_up;

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the schema.
