-- +goose Up

-- Requests to stop are messages. The index finds the executions that have mail which their owners have not looked at.
DROP INDEX cruster_inbox_results;
CREATE INDEX cruster_inbox_mail ON cruster_inbox (shard, id, chain, position) WHERE kind IN ('result', 'interrupt', 'terminate');

-- What runs have given up and not been told: the callees are asked to stop, or are ended, as their callers have said. The value is
-- {"at", "given_up", "reason"} in msgpack. A callee has one request of a kind at most.
INSERT INTO cruster_inbox (shard, id, position, chain, origin, kind, name, at, flags, bytes, sender, sender_run, step, value)
SELECT shard, id, (SELECT coalesce(max(position), 0) FROM cruster_inbox) + row_number() OVER (ORDER BY shard, id, kind), chain, randomblob(16), kind, '', at, 0,
    length(value), caller, caller_run, step, value
FROM (
    SELECT e.shard, e.id, coalesce(e.chain, e.run) AS chain, g.at, g.id AS caller, g.run AS caller_run, e.parent_step AS step,
        unhex('83a26174d3' || printf('%016x', g.at) || 'a8676976656e5f7570c3a6726561736f6eda' || printf('%04x', length(g.reason)) || hex(g.reason)) AS value,
        CASE WHEN instr(e.pinned, x'a96f6e5f63616e63656ca663616e63656c') > 0 THEN 'interrupt'
             WHEN instr(e.pinned, x'a96f6e5f63616e63656ca97465726d696e617465') > 0 THEN 'terminate' END AS kind,
        row_number() OVER (PARTITION BY e.shard, e.id ORDER BY g.at) AS place, e.interrupt
    FROM cruster_given_up g
    JOIN cruster_executions e ON e.parent_run = g.run AND (e.parent_step = g.step OR g.step = zeroblob(16)) AND e.superseded = 0
    WHERE e.state IN ('running', 'paused'))
WHERE place = 1 AND kind IS NOT NULL AND NOT (kind = 'interrupt' AND interrupt IS NOT NULL);
DROP TABLE cruster_given_up;

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the store.
