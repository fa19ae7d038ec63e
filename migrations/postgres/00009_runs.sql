-- Rows belong to a run: journals, deferreds, links and saved states are keyed by the run, published
-- values by the first run of its chain, and messages name the chain. A run that takes the place of
-- another finds none of its rows.
--
-- There are 1,024 shards: the first ten bits of an id. So far there were 256, the first eight.

-- +goose Up

-- All locks come first, so that an attempt that does not get one costs nothing. They wait for longer than a
-- vacuum takes to give way.
SET LOCAL lock_timeout = '3s';
LOCK TABLE shards, executions, entries, deferreds, links, hibernated, published, inbox, receipts, entities, schedules, locks, attributes, given_up, continued
    IN ACCESS EXCLUSIVE MODE;

-- Another epoch: a host of the version before that is still at work writes nothing any more.
CREATE TEMPORARY TABLE owners ON COMMIT DROP AS SELECT * FROM shards;
DELETE FROM shards;
INSERT INTO shards (shard, epoch, token, owner, claimed_at)
SELECT 4 * shard + quarter, CASE WHEN epoch > 0 THEN epoch + 1 ELSE 0 END, token, owner, claimed_at FROM owners, generate_series(0, 3) AS quarter;

-- Where the rows of a run were, and where they are now.
CREATE TEMPORARY TABLE moved ON COMMIT DROP AS
SELECT shard AS old_shard, id AS old_id, coalesce(earlier_of, id) AS id, run, coalesce(chain, run) AS chain,
    (4 * get_byte(coalesce(earlier_of, id), 0) + get_byte(coalesce(earlier_of, id), 1) / 64)::smallint AS shard,
    CASE WHEN earlier_of IS NULL THEN 0 ELSE row_number() OVER (PARTITION BY earlier_of ORDER BY created_at, id) END AS superseded
FROM executions;
CREATE UNIQUE INDEX ON moved (old_id);
ANALYZE moved;

-- The runs of executions. Superseded is 0 for the current one of its execution; the others are counted.
DROP INDEX executions_wake, executions_strand, executions_parent, executions_finished, executions_held, executions_holders, executions_earlier, executions_request;
ALTER TABLE executions DROP CONSTRAINT executions_pkey, ADD COLUMN superseded bigint NOT NULL DEFAULT 0;
UPDATE executions e SET shard = m.shard, id = m.id, superseded = m.superseded FROM moved m WHERE m.old_id = e.id;
ALTER TABLE executions DROP COLUMN earlier_of, ADD PRIMARY KEY (shard, id, superseded);
-- Who locks a row FOR KEY SHARE relies on these columns, which change only when the run is over or is another:
-- see guestTx.Commit. The run comes first: an index that begins as the primary key does is taken for it while the table is new.
CREATE UNIQUE INDEX executions_run ON executions (run, shard, finished_at);
CREATE INDEX executions_wake ON executions (wake_at, id) WHERE state = 'running';
CREATE INDEX executions_strand ON executions (namespace, workflow, state, created_at DESC, id DESC) WHERE superseded = 0;
CREATE INDEX executions_parent ON executions (parent_run, parent_step) WHERE parent_run IS NOT NULL;
CREATE INDEX executions_request ON executions (shard, id, request) WHERE superseded > 0 AND request IS NOT NULL;
-- Three for retention: what it looks at, oldest first, what is held, and holders that are over.
CREATE INDEX executions_finished ON executions (finished_at, id, superseded) WHERE finished_at > 0 AND held_by IS NULL AND NOT holds;
CREATE INDEX executions_held ON executions (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX executions_holders ON executions (finished_at) WHERE holds AND finished_at > 0;

-- The journals. A row has the entries of one commit, from seq to last: see journal.EntryRow.
ALTER TABLE entries RENAME TO entries_before;
ALTER TABLE entries_before RENAME CONSTRAINT entries_pkey TO entries_before_pkey;
CREATE TABLE entries (
    shard smallint NOT NULL,
    run   bytea NOT NULL,
    seq   bigint NOT NULL,
    last  bigint NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (shard, run, seq)
);
INSERT INTO entries SELECT m.shard, m.run, b.seq, b.seq, b.entry FROM entries_before b JOIN moved m ON m.old_id = b.id;
DROP TABLE entries_before;

ALTER TABLE deferreds RENAME TO deferreds_before;
ALTER TABLE deferreds_before RENAME CONSTRAINT deferreds_pkey TO deferreds_before_pkey;
CREATE TABLE deferreds (
    shard  smallint NOT NULL,
    run    bytea NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bytea,
    error  bytea,                -- msgpack of abi.Error
    at     bigint NOT NULL,
    origin bytea NOT NULL,
    PRIMARY KEY (shard, run, name)
);
INSERT INTO deferreds SELECT m.shard, m.run, b.name, b.value, b.error, b.at, b.origin FROM deferreds_before b JOIN moved m ON m.old_id = b.id;
DROP TABLE deferreds_before;

ALTER TABLE links RENAME TO links_before;
ALTER TABLE links_before RENAME CONSTRAINT links_pkey TO links_before_pkey;
DROP INDEX links_callee;
CREATE TABLE links (
    shard      smallint NOT NULL,
    run        bytea NOT NULL,
    step       bytea NOT NULL,
    callee     bytea NOT NULL,
    callee_run bytea NOT NULL,   -- the first of its chain
    PRIMARY KEY (shard, run, step)
);
INSERT INTO links SELECT m.shard, m.run, b.step, b.callee, b.callee_run FROM links_before b JOIN moved m ON m.old_id = b.id;
CREATE INDEX links_callee ON links (callee_run);
DROP TABLE links_before;

ALTER TABLE hibernated RENAME TO hibernated_before;
ALTER TABLE hibernated_before RENAME CONSTRAINT hibernated_pkey TO hibernated_before_pkey;
CREATE TABLE hibernated (
    shard smallint NOT NULL,
    run   bytea NOT NULL,
    seq   bigint NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (shard, run)
);
ALTER TABLE hibernated ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already
INSERT INTO hibernated SELECT m.shard, m.run, b.seq, b.body FROM hibernated_before b JOIN moved m ON m.old_id = b.id;
DROP TABLE hibernated_before;

ALTER TABLE published RENAME TO published_before;
ALTER TABLE published_before RENAME CONSTRAINT published_pkey TO published_before_pkey;
CREATE TABLE published (
    shard smallint NOT NULL,
    run   bytea NOT NULL,        -- the first of the chain
    body  bytea NOT NULL,
    PRIMARY KEY (shard, run)
);
INSERT INTO published SELECT m.shard, m.chain, b.body FROM published_before b JOIN moved m ON m.old_id = b.id;
DROP TABLE published_before;

DROP INDEX inbox_origin, inbox_held;
ALTER TABLE inbox ADD COLUMN chain bytea NOT NULL DEFAULT ''; -- of the runs of an execution that it is for; empty for an entity
UPDATE inbox SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE inbox i SET shard = m.shard, id = m.id, chain = m.chain FROM moved m WHERE m.old_id = i.id;
ALTER TABLE inbox ALTER COLUMN chain DROP DEFAULT, DROP CONSTRAINT inbox_pkey, ADD PRIMARY KEY (shard, id, chain, position);
-- The origin comes before the id: were it behind, the planner would take this index for the one of places, and walk through an inbox for each
-- message that is taken from it.
CREATE UNIQUE INDEX inbox_origin ON inbox (shard, origin, id, chain);
CREATE INDEX inbox_held ON inbox (shard, id) WHERE held;
CREATE INDEX inbox_results ON inbox (shard, id) WHERE kind = 'result';

-- Messages of entities that could not be performed: why, and which entity they are for. The first index counts those of
-- an entity, the second lists them.
ALTER TABLE inbox ADD COLUMN parked bytea, ADD COLUMN namespace text COLLATE "C", ADD COLUMN type text COLLATE "C", ADD COLUMN key text COLLATE "C";
CREATE INDEX inbox_parked ON inbox (shard, id) WHERE parked IS NOT NULL;
CREATE INDEX inbox_parked_list ON inbox (namespace, type, key, position) WHERE parked IS NOT NULL;

-- Runs that are gone, and whose rows are garbage. A chain says that the last of its runs is gone.
CREATE TABLE retired (
    shard smallint NOT NULL,
    run   bytea NOT NULL,
    id    bytea NOT NULL,
    chain bytea,
    holds boolean NOT NULL,      -- executions or receipts may be held by it
    PRIMARY KEY (shard, run)
);
CREATE INDEX retired_holders ON retired (shard) WHERE holds;
INSERT INTO retired SELECT 4 * shard, run, '', NULL, true FROM continued;
DROP TABLE continued;

-- What else has the shard in its key.
UPDATE receipts SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE entities SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE schedules SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE locks SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE attributes SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;
UPDATE given_up SET shard = 4 * get_byte(id, 0) + get_byte(id, 1) / 64;

-- Rows of these are replaced or deleted soon after they come: they are vacuumed by numbers, not by shares of a table.
ALTER TABLE executions SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE inbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE receipts SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000);
ALTER TABLE retired SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE shards SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- +goose Down
-- There is no way back: a version that does not know these tables refuses the schema.
