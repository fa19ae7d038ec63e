-- +goose Up

-- Settled deferreds are messages, and their table goes. A host of the version before writes it: all locks come first, and another
-- epoch fences it, as in step 9.
SET LOCAL lock_timeout = '3s';
LOCK TABLE shards, executions, inbox, deferreds IN ACCESS EXCLUSIVE MODE;
UPDATE shards SET epoch = epoch + 1 WHERE epoch > 0;

-- They are in an inbox of their run, whose chain is the run with its halves exchanged. The origin is derived from the name; in front
-- of the value is who settled, and whether it is a value (0) or an error (1). What runs had that are gone goes with the table.
INSERT INTO inbox (shard, id, chain, origin, kind, name, at, repeatable, held, bytes, value)
SELECT d.shard, e.id, substring(d.run FROM 9) || substring(d.run FOR 8), substring(sha256(convert_to('cruster deferred' || d.name, 'UTF8')) FOR 16),
    'settle', d.name, d.at, false, false, octet_length(v.value), v.value
FROM deferreds d JOIN executions e USING (shard, run)
CROSS JOIN LATERAL (
    SELECT d.origin || CASE WHEN d.error IS NULL THEN '\x00'::bytea ELSE '\x01'::bytea END || coalesce(d.error, d.value, ''::bytea) AS value) AS v
ORDER BY d.shard, e.id, e.superseded DESC, d.at, d.name;
DROP TABLE deferreds;

-- Entities with messages are found without a look at what executions were settled with.
CREATE INDEX inbox_entities ON inbox (shard, id) WHERE chain = '' AND parked IS NULL;

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the schema.
