-- What runs do not wait for any more, until the host has done what it owes to that.

-- +goose Up

-- A step of zeros stands for all of a run. The rows do not hang on the execution of that id.
CREATE TABLE given_up (
    shard  smallint NOT NULL,
    id     bytea NOT NULL,
    run    bytea NOT NULL,
    step   bytea NOT NULL,
    at     bigint NOT NULL,
    reason bytea NOT NULL, -- text of guests: it may have zero bytes
    PRIMARY KEY (shard, id, run, step)
);

-- +goose Down
DROP TABLE given_up;
