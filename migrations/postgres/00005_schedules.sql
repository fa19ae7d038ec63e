-- Schedules. Body is the encoding of what people said and of how far the schedule is.

-- +goose Up
CREATE TABLE schedules (
    shard     smallint NOT NULL,
    id        bytea NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    version   bigint NOT NULL,
    wake_at   bigint NOT NULL,
    body      bytea NOT NULL,
    input     bytea,
    PRIMARY KEY (shard, id)
);
CREATE UNIQUE INDEX schedules_name ON schedules (namespace, name);
CREATE INDEX schedules_wake ON schedules (wake_at, id);

-- +goose Down
DROP TABLE schedules;
