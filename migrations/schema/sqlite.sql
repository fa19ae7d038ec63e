-- What the steps in migrations/sqlite make of an empty file, to the order of columns and indexes; a step that
-- is added is added here as well. TestNewSchema compares the two.

-- The steps, as goose counts them.
CREATE TABLE cruster_schema_version (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    version_id INTEGER NOT NULL,
    is_applied INTEGER NOT NULL,
    tstamp TIMESTAMP DEFAULT (datetime('now'))
);
INSERT INTO cruster_schema_version (version_id, is_applied)
WITH RECURSIVE n (step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM n WHERE step < 12)
SELECT step, 1 FROM n;

-- What this store was made with; never changed afterwards.
CREATE TABLE cruster_meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_meta (name, value) VALUES ('shards', '1024');

-- The binary comes last: a read of the other columns does not walk over it.
CREATE TABLE cruster_modules (
    digest     TEXT PRIMARY KEY,
    manifest   BLOB,
    created_at INTEGER NOT NULL,
    binary     BLOB
) STRICT;

CREATE TABLE cruster_deployments (
    namespace  TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    digest     TEXT    NOT NULL REFERENCES cruster_modules (digest),
    version    INTEGER NOT NULL,
    config     BLOB    NOT NULL,
    allow_http BLOB    NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;

-- Which migrations of modules were applied; the checksum tells a changed one.
CREATE TABLE cruster_guest_migrations (
    namespace  TEXT    NOT NULL,
    deployment TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    checksum   TEXT    NOT NULL,
    PRIMARY KEY (namespace, deployment, version)
) STRICT, WITHOUT ROWID;

-- Which namespace owns a table or view that a module's migration made. Names
-- are in lower case: SQLite does not tell A from a.
CREATE TABLE cruster_guest_tables (
    name      TEXT PRIMARY KEY,
    namespace TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is left of messages that were taken. Held: the run that sent the message was alive
-- when retention looked, and holds others.
CREATE TABLE cruster_receipts (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL, -- the receiver
    origin     BLOB    NOT NULL,
    at         INTEGER NOT NULL,
    sender     BLOB,
    sender_run BLOB,
    step       BLOB,
    held       INTEGER NOT NULL DEFAULT 0,
    error      BLOB,
    value      BLOB,
    PRIMARY KEY (shard, id, origin)
) STRICT;
CREATE INDEX cruster_receipts_at ON cruster_receipts (at, id, origin) WHERE held = 0;
CREATE INDEX cruster_receipts_held ON cruster_receipts (sender_run) WHERE held = 1;

-- Entities that have a state. Rows of any size have rowids, here and elsewhere: to find its way in a table
-- without them SQLite reads rows as a whole.
CREATE TABLE cruster_entities (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL,
    namespace  TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    state      BLOB,
    PRIMARY KEY (shard, id)
) STRICT;
CREATE INDEX cruster_entities_name ON cruster_entities (namespace, type, key);

-- Schedules. Body is the encoding of what people said and of how far the schedule is.
CREATE TABLE cruster_schedules (
    shard     INTEGER NOT NULL,
    id        BLOB    NOT NULL,
    namespace TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    version   INTEGER NOT NULL,
    wake_at   INTEGER NOT NULL,
    body      BLOB    NOT NULL,
    input     BLOB,
    PRIMARY KEY (shard, id)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX cruster_schedules_name ON cruster_schedules (namespace, name);
CREATE INDEX cruster_schedules_wake ON cruster_schedules (wake_at, id);

-- Entities that steps of runs have locked. Sections of these may have ended.
CREATE TABLE cruster_locks (
    shard       INTEGER NOT NULL,
    id          BLOB    NOT NULL, -- the entity
    namespace   TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    key         TEXT    NOT NULL,
    holder      BLOB    NOT NULL,
    holder_run  BLOB    NOT NULL,
    holder_step BLOB    NOT NULL,
    since       INTEGER NOT NULL,
    PRIMARY KEY (shard, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_locks_namespace ON cruster_locks (namespace, id);

-- The attributes that runs have published, to find executions by. A text has the number 0, and all
-- others an empty text.
CREATE TABLE cruster_attributes (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    type       TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    number     REAL    NOT NULL,
    namespace  TEXT    NOT NULL, -- of the execution, as the time
    created_at INTEGER NOT NULL,
    PRIMARY KEY (shard, id, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_attributes_value ON cruster_attributes (namespace, name, type, text, number, created_at, id);

-- The owners of shards, which are the first ten bits of an id. Every write compares its epoch and token with these.
CREATE TABLE cruster_shards (
    shard INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    token BLOB    NOT NULL,
    owner TEXT    NOT NULL
) STRICT;
INSERT INTO cruster_shards (shard, epoch, token, owner)
WITH RECURSIVE n (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM n WHERE shard < 1023)
SELECT shard, 0, zeroblob(16), '' FROM n;

-- The runs of executions. Superseded is 0 for the current one of its execution; the others are counted. A row
-- is rewritten by every update, so the request, which may be large and never changes, is kept apart in cruster_inputs.
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
    arrivals     INTEGER NOT NULL DEFAULT 0, -- messages received: an update by an owner who knows of fewer leaves wake_at
    PRIMARY KEY (shard, id, superseded)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX cruster_executions_run ON cruster_executions (shard, run);
CREATE INDEX cruster_executions_wake ON cruster_executions (wake_at, id) WHERE state = 'running';
CREATE INDEX cruster_executions_strand ON cruster_executions (namespace, workflow, state, created_at, id) WHERE superseded = 0;
CREATE INDEX cruster_executions_parent ON cruster_executions (parent_run, parent_step) WHERE parent_run IS NOT NULL;
CREATE INDEX cruster_executions_request ON cruster_executions (shard, id, request) WHERE superseded > 0 AND request IS NOT NULL;
-- Three for retention: its candidates, the held ones, and holders that have ended.
CREATE INDEX cruster_executions_finished ON cruster_executions (finished_at, id, superseded) WHERE finished_at > 0 AND held_by IS NULL AND holds = 0;
CREATE INDEX cruster_executions_held ON cruster_executions (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX cruster_executions_holders ON cruster_executions (finished_at) WHERE holds = 1 AND finished_at > 0;

CREATE TABLE cruster_inputs (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    input BLOB,
    PRIMARY KEY (shard, run)
) STRICT, WITHOUT ROWID;

-- The journals. A row has the entries of one commit, from seq to last: see journal.EntryRow.
CREATE TABLE cruster_entries (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    last  INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run, seq)
) STRICT, WITHOUT ROWID;

-- Executions that steps found when they asked for one to be started. They lie with
-- the caller. The index is for retention: a callee stays while a caller is alive.
CREATE TABLE cruster_links (
    shard      INTEGER NOT NULL,
    run        BLOB    NOT NULL,
    step       BLOB    NOT NULL,
    callee     BLOB    NOT NULL,
    callee_run BLOB    NOT NULL, -- the first of its chain
    PRIMARY KEY (shard, run, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_links_callee ON cruster_links (callee_run);

-- Saved states of guests: at most one a run. They only save time, so that losing one loses nothing.
CREATE TABLE cruster_hibernated (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run)
) STRICT;

-- What runs have published, as one value.
CREATE TABLE cruster_published (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL, -- the first of the chain
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, run)
) STRICT;

-- What was sent to executions and entities and is not taken yet. A list of messages does not read what they
-- bring: the value comes behind all that is listed, its length before it. Behind it is what messages of entities have
-- that could not be performed: why, and which entity they are for.
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
    parked     BLOB,
    namespace  TEXT,
    type       TEXT,
    key        TEXT,
    PRIMARY KEY (shard, id, chain, position)
) STRICT;
CREATE UNIQUE INDEX cruster_inbox_origin ON cruster_inbox (shard, id, origin, chain);
CREATE INDEX cruster_inbox_held ON cruster_inbox (shard, id) WHERE flags >= 2;
-- The first index counts the parked messages of an entity, the second lists them.
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
CREATE INDEX cruster_retired_free ON cruster_retired (shard, run) WHERE holds = 0;

-- Executions with mail that their owners have not looked at, and entities with messages.
CREATE INDEX cruster_inbox_mail ON cruster_inbox (shard, id, chain, position) WHERE kind IN ('result', 'interrupt', 'terminate');
CREATE INDEX cruster_inbox_entities ON cruster_inbox (shard, id) WHERE chain = x'' AND parked IS NULL;
