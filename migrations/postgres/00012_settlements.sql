-- +goose Up

-- Settled deferreds are messages, and their table goes. A host of the version before writes it: all locks come first, and another
-- epoch fences it, as in step 9.
SET LOCAL lock_timeout = '3s';
LOCK TABLE shards, executions, inbox, deferreds IN ACCESS EXCLUSIVE MODE;
UPDATE shards SET epoch = epoch + 1 WHERE epoch > 0;

-- They are in an inbox of their run, whose chain is the run with its halves exchanged. The origin is derived from the name; who settled
-- stands as the step that it is from; in front of the value is whether it is one (0) or an error (1). What runs had that are gone
-- goes with the table.
INSERT INTO inbox (shard, id, chain, origin, kind, name, at, repeatable, held, bytes, sender, sender_run, step, value)
SELECT d.shard, e.id, substring(d.run FROM 9) || substring(d.run FOR 8), substring(sha256(convert_to('cruster deferred' || d.name, 'UTF8')) FOR 16),
    'settle', d.name, d.at, false, false, octet_length(v.value), v.sender, v.sender, nullif(d.origin, v.none), v.value
FROM deferreds d JOIN executions e USING (shard, run)
CROSS JOIN LATERAL (
    SELECT CASE WHEN d.error IS NULL THEN '\x00'::bytea ELSE '\x01'::bytea END || coalesce(d.error, d.value, ''::bytea) AS value,
        CASE WHEN d.origin <> none THEN none END AS sender, none
    FROM (SELECT decode(repeat('00', 16), 'hex') AS none) AS n) AS v;
DROP TABLE deferreds;

-- These rows live as long as their runs, unlike those of other messages.
ALTER TABLE inbox SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);

-- +goose Down
-- There is no way back: a version that does not know these messages refuses the schema.
