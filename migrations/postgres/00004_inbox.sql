-- Inboxes, what is left of messages that were taken, and entities that have a state.

-- +goose Up

-- What was sent to executions and entities and is not taken yet.
CREATE TABLE inbox (
    shard      smallint NOT NULL,
    id         bytea NOT NULL,   -- the receiver
    position   bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    origin     bytea NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    at         bigint NOT NULL,
    repeatable boolean NOT NULL,
    bytes      bigint NOT NULL,  -- of the value: a list of messages does not read it
    sender     bytea,            -- the step that sent it, if one did
    sender_run bytea,
    step       bytea,
    value      bytea,
    PRIMARY KEY (shard, id, position)
);
CREATE UNIQUE INDEX inbox_origin ON inbox (shard, id, origin);

-- What is left of messages that were taken.
CREATE TABLE receipts (
    shard      smallint NOT NULL,
    id         bytea NOT NULL,   -- the receiver
    origin     bytea NOT NULL,
    at         bigint NOT NULL,
    sender     bytea,
    sender_run bytea,
    step       bytea,
    held       boolean NOT NULL DEFAULT false, -- by the run that sent the message, as executions are
    error      bytea,            -- msgpack of abi.Error
    value      bytea,
    PRIMARY KEY (shard, id, origin)
);
CREATE INDEX receipts_at ON receipts (at, id, origin) WHERE NOT held;
CREATE INDEX receipts_held ON receipts (sender_run) WHERE held;

CREATE TABLE entities (
    shard      smallint NOT NULL,
    id         bytea NOT NULL,
    namespace  text COLLATE "C" NOT NULL,
    type       text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    state      bytea,
    PRIMARY KEY (shard, id)
) WITH (fillfactor = 85);        -- room for updates in place
CREATE INDEX entities_name ON entities (namespace, type, key);

-- +goose Down
DROP TABLE entities, receipts, inbox;
