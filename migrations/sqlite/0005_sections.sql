-- +goose Up

-- The step by which a run is in a critical section, the first of the runs that continued
-- each other, if it is another one, and how many there were before this one.
ALTER TABLE cruster_executions ADD COLUMN section BLOB;
ALTER TABLE cruster_executions ADD COLUMN chain BLOB;
ALTER TABLE cruster_executions ADD COLUMN continued INTEGER NOT NULL DEFAULT 0;

-- Runs that have continued and held others: see cruster_executions.holds.
CREATE TABLE cruster_continued (
    shard INTEGER NOT NULL,
    run   BLOB    NOT NULL,
    PRIMARY KEY (shard, run)
) STRICT, WITHOUT ROWID;

-- 1: its sender may send it again; 2: it is delivered and not answered yet. A column of its
-- own would stand behind the value, and be found by walking over that.
ALTER TABLE cruster_inbox RENAME COLUMN repeatable TO flags;
CREATE INDEX cruster_inbox_held ON cruster_inbox (shard, id) WHERE flags >= 2;

-- Entities that steps of runs have locked. Sections of these may be over.
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

-- What runs have published, as one value.
CREATE TABLE cruster_published (
    shard INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, id)
) STRICT;

-- The attributes of it, to find executions by. A text has the number 0, and all others an
-- empty text.
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

-- +goose Down
DROP TABLE cruster_attributes;
DROP TABLE cruster_published;
DROP TABLE cruster_locks;
DROP INDEX cruster_inbox_held;
UPDATE cruster_inbox SET flags = flags & 1;
ALTER TABLE cruster_inbox RENAME COLUMN flags TO repeatable;
DROP TABLE cruster_continued;
ALTER TABLE cruster_executions DROP COLUMN continued;
ALTER TABLE cruster_executions DROP COLUMN chain;
ALTER TABLE cruster_executions DROP COLUMN section;
