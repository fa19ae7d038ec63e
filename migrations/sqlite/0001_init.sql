-- +goose Up

-- What this store was made with; never changed afterwards.
CREATE TABLE cruster_meta (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO cruster_meta (name, value) VALUES ('shards', '256');

-- The owners of shards. Every write compares its epoch and token with these.
CREATE TABLE cruster_shards (
    shard INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    token BLOB    NOT NULL,
    owner TEXT    NOT NULL
) STRICT;
INSERT INTO cruster_shards (shard, epoch, token, owner)
WITH RECURSIVE n (shard) AS (SELECT 0 UNION ALL SELECT shard + 1 FROM n WHERE shard < 255)
SELECT shard, 0, zeroblob(16), '' FROM n;

-- One row an execution. It is rewritten by every update, so the request, which
-- may be large and never changes, is kept apart in cruster_inputs.
CREATE TABLE cruster_executions (
    shard        INTEGER NOT NULL,
    id           BLOB    NOT NULL,
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
    PRIMARY KEY (shard, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_executions_wake ON cruster_executions (wake_at, id) WHERE state = 'running';
CREATE INDEX cruster_executions_strand ON cruster_executions (namespace, workflow, state, created_at, id);
CREATE INDEX cruster_executions_parent ON cruster_executions (parent_run, parent_step) WHERE parent_run IS NOT NULL;
-- Three for retention: what it looks at, what is held, and holders that are over.
CREATE INDEX cruster_executions_finished ON cruster_executions (finished_at, id) WHERE finished_at > 0 AND held_by IS NULL AND holds = 0;
CREATE INDEX cruster_executions_held ON cruster_executions (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX cruster_executions_holders ON cruster_executions (finished_at) WHERE holds = 1 AND finished_at > 0;

CREATE TABLE cruster_inputs (
    shard INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    input BLOB,
    PRIMARY KEY (shard, id)
) STRICT, WITHOUT ROWID;

-- The journals. Body is the canonical encoding of the entry.
CREATE TABLE cruster_entries (
    shard INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, id, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE cruster_deferreds (
    shard  INTEGER NOT NULL,
    id     BLOB    NOT NULL,
    name   TEXT    NOT NULL,
    value  BLOB,
    error  BLOB,
    at     INTEGER NOT NULL,
    origin BLOB    NOT NULL,
    PRIMARY KEY (shard, id, name)
) STRICT, WITHOUT ROWID;

-- Executions that steps found when they asked for one to be started. They lie with
-- the caller. The index is for retention: a callee stays while a caller is alive.
CREATE TABLE cruster_links (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL,
    step       BLOB    NOT NULL,
    callee     BLOB    NOT NULL,
    callee_run BLOB    NOT NULL,
    PRIMARY KEY (shard, id, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX cruster_links_callee ON cruster_links (callee_run);

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

-- +goose Down
DROP TABLE cruster_guest_tables;
DROP TABLE cruster_guest_migrations;
DROP TABLE cruster_deployments;
DROP TABLE cruster_modules;
DROP TABLE cruster_links;
DROP TABLE cruster_deferreds;
DROP TABLE cruster_entries;
DROP TABLE cruster_inputs;
DROP TABLE cruster_executions;
DROP TABLE cruster_shards;
DROP TABLE cruster_meta;
