-- +goose Up

-- Rows belong to a run: journals, deferreds, links, inputs and saved states are keyed by the run,
-- published values by the first run of its chain, and messages name the chain. A run that takes the
-- place of another finds none of its rows.
--
-- There are 1,024 shards: the first ten bits of an id. So far there were 256, the first eight.

UPDATE cruster_meta SET value = '1024' WHERE name = 'shards';

ALTER TABLE cruster_shards RENAME TO cruster_shards_before;
CREATE TABLE cruster_shards (
    shard INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    token BLOB    NOT NULL,
    owner TEXT    NOT NULL
) STRICT;
INSERT INTO cruster_shards (shard, epoch, token, owner)
SELECT 4 * shard + quarter, epoch, token, owner FROM cruster_shards_before, (SELECT 0 AS quarter UNION SELECT 1 UNION SELECT 2 UNION SELECT 3);
DROP TABLE cruster_shards_before;

-- The runs of executions. Superseded is 0 for the current one of its execution; the others are counted.
DROP INDEX cruster_executions_wake;
DROP INDEX cruster_executions_strand;
DROP INDEX cruster_executions_parent;
DROP INDEX cruster_executions_finished;
DROP INDEX cruster_executions_held;
DROP INDEX cruster_executions_holders;
DROP INDEX cruster_executions_earlier;
DROP INDEX cruster_executions_request;
ALTER TABLE cruster_executions RENAME TO cruster_executions_before;
CREATE TABLE cruster_executions (
    shard        INTEGER NOT NULL,
    id           BLOB    NOT NULL,
    superseded   INTEGER NOT NULL DEFAULT 0,
    run          BLOB    NOT NULL,
    namespace    TEXT    NOT NULL,
    workflow     TEXT    NOT NULL,
    key          TEXT    NOT NULL,
    digest       TEXT    NOT NULL,
    moved_at     INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    value        BLOB,
    error        BLOB,
    wake_at      INTEGER NOT NULL,
    interrupt    BLOB,
    waiting      BLOB,
    pinned       BLOB    NOT NULL,
    parent_shard INTEGER,
    parent       BLOB,
    parent_run   BLOB,
    parent_step  BLOB,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL,
    held_by      BLOB,                       -- a run that is alive and may ask for this one
    holds        INTEGER NOT NULL DEFAULT 0, -- 1: others are held by this one
    section      BLOB,                       -- the step by which the run is in a critical section
    chain        BLOB,                       -- the first of the runs that continued each other, if it is another one
    continued    INTEGER NOT NULL DEFAULT 0, -- how many there were before this one
    request      BLOB,                       -- the request that has started the run
    PRIMARY KEY (shard, id, superseded)
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_executions (shard, id, superseded, run, namespace, workflow, key, digest, moved_at, state, value, error, wake_at, interrupt,
    waiting, pinned, parent_shard, parent, parent_run, parent_step, created_at, finished_at, held_by, holds, section, chain, continued, request)
SELECT 4 * shard + (substr(coalesce(earlier_of, id), 2, 1) >= x'40') + (substr(coalesce(earlier_of, id), 2, 1) >= x'80') + (substr(coalesce(earlier_of, id), 2, 1) >= x'c0'),
    coalesce(earlier_of, id),
    CASE WHEN earlier_of IS NULL THEN 0 ELSE row_number() OVER (PARTITION BY earlier_of ORDER BY created_at, id) END,
    run, namespace, workflow, key, digest, moved_at, state, value, error, wake_at, interrupt, waiting, pinned,
    4 * parent_shard + (substr(parent, 2, 1) >= x'40') + (substr(parent, 2, 1) >= x'80') + (substr(parent, 2, 1) >= x'c0'),
    parent, parent_run, parent_step, created_at, finished_at, held_by, holds, section, chain, continued, request
FROM cruster_executions_before;
CREATE UNIQUE INDEX cruster_executions_run ON cruster_executions (shard, run);
CREATE INDEX cruster_executions_wake ON cruster_executions (wake_at, id) WHERE state = 'running';
CREATE INDEX cruster_executions_strand ON cruster_executions (namespace, workflow, state, created_at, id) WHERE superseded = 0;
CREATE INDEX cruster_executions_parent ON cruster_executions (parent_run, parent_step) WHERE parent_run IS NOT NULL;
CREATE INDEX cruster_executions_request ON cruster_executions (shard, id, request) WHERE superseded > 0 AND request IS NOT NULL;
-- Three for retention: what it looks at, what is held, and holders that are over.
CREATE INDEX cruster_executions_finished ON cruster_executions (finished_at, id, superseded) WHERE finished_at > 0 AND held_by IS NULL AND holds = 0;
CREATE INDEX cruster_executions_held ON cruster_executions (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX cruster_executions_holders ON cruster_executions (finished_at) WHERE holds = 1 AND finished_at > 0;

-- Where the rows of a run were, and where they are now.
CREATE TEMPORARY TABLE moved AS
SELECT shard AS old_shard, id AS old_id, coalesce(earlier_of, id) AS id, run, coalesce(chain, run) AS chain,
    4 * shard + (substr(coalesce(earlier_of, id), 2, 1) >= x'40') + (substr(coalesce(earlier_of, id), 2, 1) >= x'80') + (substr(coalesce(earlier_of, id), 2, 1) >= x'c0') AS shard
FROM cruster_executions_before;
CREATE UNIQUE INDEX temp.moved_id ON moved (old_shard, old_id);
DROP TABLE cruster_executions_before;

ALTER TABLE cruster_inputs RENAME TO cruster_inputs_before;
CREATE TABLE cruster_inputs (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    input BLOB,
    PRIMARY KEY (shard, run)
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_inputs SELECT m.shard, m.run, b.input FROM cruster_inputs_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
DROP TABLE cruster_inputs_before;

-- The journals. A row has the entries of one commit, from seq to last: see journal.EntryRow.
ALTER TABLE cruster_entries RENAME TO cruster_entries_before;
CREATE TABLE cruster_entries (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run, seq)
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_entries SELECT m.shard, m.run, b.seq, b.seq, b.body FROM cruster_entries_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
DROP TABLE cruster_entries_before;

ALTER TABLE cruster_deferreds RENAME TO cruster_deferreds_before;
CREATE TABLE cruster_deferreds (
    shard  INTEGER NOT NULL,
    run    BLOB    NOT NULL,
    name   TEXT    NOT NULL,
    value  BLOB,
    error  BLOB,
    at     INTEGER NOT NULL,
    origin BLOB    NOT NULL,
    PRIMARY KEY (shard, run, name)
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_deferreds SELECT m.shard, m.run, b.name, b.value, b.error, b.at, b.origin
FROM cruster_deferreds_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
DROP TABLE cruster_deferreds_before;

DROP INDEX cruster_links_callee;
ALTER TABLE cruster_links RENAME TO cruster_links_before;
CREATE TABLE cruster_links (
    shard      INTEGER NOT NULL,
    run        BLOB    NOT NULL,
    step       BLOB    NOT NULL,
    callee     BLOB    NOT NULL,
    callee_run BLOB    NOT NULL, -- the first of its chain
    PRIMARY KEY (shard, run, step)
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_links SELECT m.shard, m.run, b.step, b.callee, b.callee_run FROM cruster_links_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
CREATE INDEX cruster_links_callee ON cruster_links (callee_run);
DROP TABLE cruster_links_before;

ALTER TABLE cruster_hibernated RENAME TO cruster_hibernated_before;
CREATE TABLE cruster_hibernated (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run)
) STRICT;
INSERT INTO cruster_hibernated SELECT m.shard, m.run, b.seq, b.body FROM cruster_hibernated_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
DROP TABLE cruster_hibernated_before;

ALTER TABLE cruster_published RENAME TO cruster_published_before;
CREATE TABLE cruster_published (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL, -- the first of the chain
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run)
) STRICT;
INSERT INTO cruster_published SELECT m.shard, m.chain, b.body FROM cruster_published_before b JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
DROP TABLE cruster_published_before;

DROP INDEX cruster_inbox_origin;
DROP INDEX cruster_inbox_held;
ALTER TABLE cruster_inbox RENAME TO cruster_inbox_before;
CREATE TABLE cruster_inbox (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL, -- the receiver
    position   INTEGER NOT NULL,
    chain      BLOB    NOT NULL, -- of the runs of an execution that it is for; empty for an entity
    origin     BLOB    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    flags      INTEGER NOT NULL, -- 1: its sender may send it again; 2: it is delivered and not answered yet
    bytes      INTEGER NOT NULL,
    sender     BLOB,             -- the step that sent it, if one did
    sender_run BLOB,
    step       BLOB,
    value      BLOB,
    PRIMARY KEY (shard, id, chain, position)
) STRICT;
INSERT INTO cruster_inbox
SELECT coalesce(m.shard, 4 * b.shard + (substr(b.id, 2, 1) >= x'40') + (substr(b.id, 2, 1) >= x'80') + (substr(b.id, 2, 1) >= x'c0')), coalesce(m.id, b.id),
    b.position, coalesce(m.chain, x''), b.origin, b.kind, b.name, b.at, b.flags, b.bytes, b.sender, b.sender_run, b.step, b.value
FROM cruster_inbox_before b LEFT JOIN moved m ON m.old_shard = b.shard AND m.old_id = b.id;
CREATE UNIQUE INDEX cruster_inbox_origin ON cruster_inbox (shard, id, origin, chain);
CREATE INDEX cruster_inbox_held ON cruster_inbox (shard, id) WHERE flags >= 2;
CREATE INDEX cruster_inbox_results ON cruster_inbox (shard, id) WHERE kind = 'result';
DROP TABLE cruster_inbox_before;
DROP TABLE moved;

-- Messages of entities that could not be performed: why, and which entity they are for. The first index counts those of
-- an entity, the second lists them.
ALTER TABLE cruster_inbox ADD COLUMN parked BLOB;
ALTER TABLE cruster_inbox ADD COLUMN namespace TEXT;
ALTER TABLE cruster_inbox ADD COLUMN type TEXT;
ALTER TABLE cruster_inbox ADD COLUMN key TEXT;
CREATE INDEX cruster_inbox_parked ON cruster_inbox (shard, id) WHERE parked IS NOT NULL;
CREATE INDEX cruster_inbox_parked_list ON cruster_inbox (namespace, type, key, position) WHERE parked IS NOT NULL;

-- Runs that are gone, and whose rows are garbage. A chain says that the last of its runs is gone.
CREATE TABLE cruster_retired (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    id    BLOB    NOT NULL,
    chain BLOB,
    holds INTEGER NOT NULL, -- 1: executions or receipts may be held by it
    PRIMARY KEY (shard, run)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_retired_holders ON cruster_retired (shard) WHERE holds = 1;
INSERT INTO cruster_retired SELECT 4 * shard, run, x'', NULL, 1 FROM cruster_continued;
DROP TABLE cruster_continued;

-- What else has the shard in its key.
UPDATE cruster_receipts SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');
UPDATE cruster_entities SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');
UPDATE cruster_schedules SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');
UPDATE cruster_locks SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');
UPDATE cruster_attributes SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');
UPDATE cruster_given_up SET shard = 4 * shard + (substr(id, 2, 1) >= x'40') + (substr(id, 2, 1) >= x'80') + (substr(id, 2, 1) >= x'c0');

-- +goose Down
-- There is no way back: a version that does not know these tables refuses the store.
