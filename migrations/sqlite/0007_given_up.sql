-- +goose Up

-- What runs do not wait for any more, until the host has done what it owes to that. A step of
-- zeros stands for all of a run. The rows do not hang on the execution of that id.
CREATE TABLE cruster_given_up (
    shard  INTEGER NOT NULL,
    id     BLOB    NOT NULL,
    run    BLOB    NOT NULL,
    step   BLOB    NOT NULL,
    at     INTEGER NOT NULL,
    reason BLOB    NOT NULL, -- text of guests: it may have zero bytes
    PRIMARY KEY (shard, id, run, step)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE cruster_given_up;
