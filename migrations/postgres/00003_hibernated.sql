-- Saved states of guests: at most one an execution. They only save time, so that
-- losing one loses nothing.

-- +goose Up
CREATE TABLE hibernated (
    shard smallint NOT NULL,
    id    bytea NOT NULL,
    seq   bigint NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (shard, id)
);
ALTER TABLE hibernated ALTER COLUMN body SET STORAGE EXTERNAL; -- it is compressed already

-- +goose Down
DROP TABLE hibernated;
