-- Critical sections, messages that are delivered and not answered yet, what runs publish,
-- and runs that continue others.

-- +goose Up

ALTER TABLE executions
    ADD COLUMN section   bytea,  -- the step by which the run is in a critical section
    ADD COLUMN chain     bytea,  -- the first of the runs that continued each other, if it is another one
    ADD COLUMN continued bigint NOT NULL DEFAULT 0; -- how many there were before this one

-- Runs that have continued and held others: see executions.holds.
CREATE TABLE continued (
    shard smallint NOT NULL,
    run   bytea NOT NULL,
    PRIMARY KEY (shard, run)
);

ALTER TABLE inbox ADD COLUMN held boolean NOT NULL DEFAULT false; -- delivered, and not answered yet
CREATE INDEX inbox_held ON inbox (shard, id) WHERE held;

-- Entities that steps of runs have locked. Sections of these may be over.
CREATE TABLE locks (
    shard       smallint NOT NULL,
    id          bytea NOT NULL,  -- the entity
    namespace   text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    holder      bytea NOT NULL,
    holder_run  bytea NOT NULL,
    holder_step bytea NOT NULL,
    since       bigint NOT NULL,
    PRIMARY KEY (shard, id)
);
CREATE INDEX locks_namespace ON locks (namespace, id);

-- What runs have published, as one value: msgpack.
CREATE TABLE published (
    shard smallint NOT NULL,
    id    bytea NOT NULL,
    body  bytea NOT NULL,
    PRIMARY KEY (shard, id)
);

-- The attributes of it, to find executions by. A text has the number 0, and all others an
-- empty text.
CREATE TABLE attributes (
    shard      smallint NOT NULL,
    id         bytea NOT NULL,
    name       text COLLATE "C" NOT NULL,
    type       text COLLATE "C" NOT NULL,
    text       text COLLATE "C" NOT NULL,
    number     double precision NOT NULL,
    namespace  text COLLATE "C" NOT NULL, -- of the execution, as the time
    created_at bigint NOT NULL,
    PRIMARY KEY (shard, id, name)
);
CREATE INDEX attributes_value ON attributes (namespace, name, type, text, number, created_at DESC, id DESC);

-- +goose Down
DROP TABLE attributes, published, locks, continued;
ALTER TABLE inbox DROP COLUMN held;
ALTER TABLE executions DROP COLUMN section, DROP COLUMN chain, DROP COLUMN continued;
