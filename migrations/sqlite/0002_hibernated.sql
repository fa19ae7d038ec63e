-- +goose Up

-- Saved states of guests: at most one an execution. They only save time, so that
-- losing one loses nothing.
CREATE TABLE cruster_hibernated (
    shard INTEGER NOT NULL,
    id    BLOB    NOT NULL,
    seq   INTEGER NOT NULL,
    body  BLOB    NOT NULL,
    PRIMARY KEY (shard, id)
) STRICT;

-- +goose Down
DROP TABLE cruster_hibernated;
