-- +goose Up

-- These tables have rows of any size, and so have rowids: to find its way in a table
-- without them SQLite reads rows as a whole.

-- What was sent to executions and entities and is not taken yet. A list of messages
-- does not read what they bring: the value comes last, its length before it.
CREATE TABLE cruster_inbox (
    shard      INTEGER NOT NULL,
    id         BLOB    NOT NULL, -- the receiver
    position   INTEGER NOT NULL,
    origin     BLOB    NOT NULL,
    kind       TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    repeatable INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    sender     BLOB,             -- the step that sent it, if one did
    sender_run BLOB,
    step       BLOB,
    value      BLOB,
    PRIMARY KEY (shard, id, position)
) STRICT;
CREATE UNIQUE INDEX cruster_inbox_origin ON cruster_inbox (shard, id, origin);

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

-- Entities that have a state.
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

-- +goose Down
DROP TABLE cruster_entities;
DROP TABLE cruster_receipts;
DROP TABLE cruster_inbox;
