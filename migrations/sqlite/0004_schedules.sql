-- +goose Up

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

-- +goose Down
DROP TABLE cruster_schedules;
