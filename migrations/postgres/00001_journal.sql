-- The journal, version 1. Applied with search_path set to Cruster's schema.
--
-- Every table that grows has the shard as the first column of its key. Times
-- are Unix nanoseconds. Names are compared byte by byte (COLLATE "C"), so that
-- all stores sort alike.

-- +goose Up

-- The owners of shards. A fence, which is epoch and token, changes only under a lock that conflicts with
-- the one every journal transaction holds: see journal/postgres/commit.go.
CREATE TABLE shards (
    shard      smallint PRIMARY KEY,
    epoch      bigint NOT NULL,
    token      bytea NOT NULL,
    owner      text NOT NULL,
    claimed_at timestamptz NOT NULL
);

INSERT INTO shards (shard, epoch, token, owner, claimed_at)
SELECT n, 0, decode(repeat('00', 16), 'hex'), '', now() FROM generate_series(0, 255) AS n;

-- One row that a host overwrites to prove that the store commits.
CREATE TABLE heartbeat (
    one boolean PRIMARY KEY CHECK (one),
    at  timestamptz NOT NULL
);

INSERT INTO heartbeat (one, at) VALUES (true, now());

CREATE TABLE executions (
    shard       smallint NOT NULL,
    id          bytea NOT NULL,
    run         bytea NOT NULL,
    namespace   text COLLATE "C" NOT NULL,
    workflow    text COLLATE "C" NOT NULL,
    key         text COLLATE "C" NOT NULL,
    digest      text COLLATE "C" NOT NULL,
    moved_at    bigint NOT NULL,
    input       bytea,
    state       text COLLATE "C" NOT NULL,
    value       bytea,
    error       bytea,           -- msgpack of abi.Error
    wake_at     bigint NOT NULL,
    interrupt   bytea,           -- msgpack of journal.Interrupt
    waiting     bytea NOT NULL,  -- msgpack of journal.Waiting
    pinned      bytea NOT NULL,  -- msgpack of journal.Pinned
    parent      bytea,
    parent_run  bytea,
    parent_step bytea,
    created_at  bigint NOT NULL,
    finished_at bigint NOT NULL, -- 0 while not final
    held_by     bytea,           -- a run that is alive and may ask for this one
    holds       boolean NOT NULL DEFAULT false, -- others are held by this one
    PRIMARY KEY (shard, id)
) WITH (fillfactor = 85);        -- room for updates in place

-- What wakes next; only what is running can wake.
CREATE INDEX executions_wake ON executions (wake_at, id) WHERE state = 'running';
-- Pages of every sort, newest first: see List. One index serves them all, because an
-- update that moves a row writes to each index.
CREATE INDEX executions_strand ON executions (namespace, workflow, state, created_at DESC, id DESC);
-- What a step of a run started.
CREATE INDEX executions_parent ON executions (parent_run, parent_step) WHERE parent_run IS NOT NULL;
-- Three for retention: what it looks at, oldest first, what is held, and holders
-- that are over.
CREATE INDEX executions_finished ON executions (finished_at, id) WHERE finished_at > 0 AND held_by IS NULL AND NOT holds;
CREATE INDEX executions_held ON executions (held_by) WHERE held_by IS NOT NULL;
CREATE INDEX executions_holders ON executions (finished_at) WHERE holds AND finished_at > 0;

CREATE TABLE entries (
    shard smallint NOT NULL,
    id    bytea NOT NULL,
    seq   bigint NOT NULL,
    entry bytea NOT NULL,        -- canonical msgpack of journal.Entry
    PRIMARY KEY (shard, id, seq)
);

CREATE TABLE deferreds (
    shard  smallint NOT NULL,
    id     bytea NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  bytea,
    error  bytea,                -- msgpack of abi.Error
    at     bigint NOT NULL,
    origin bytea NOT NULL,
    PRIMARY KEY (shard, id, name)
);

-- Executions that steps found when they asked for one to be started. They lie
-- with the caller.
CREATE TABLE links (
    shard      smallint NOT NULL,
    id         bytea NOT NULL,
    step       bytea NOT NULL,
    callee     bytea NOT NULL,
    callee_run bytea NOT NULL,
    PRIMARY KEY (shard, id, step)
);
-- For retention: a callee stays while a caller is alive.
CREATE INDEX links_callee ON links (callee_run);

-- expect stops a transaction whose premise turned out false. Statements that
-- are sent together with their COMMIT leave the host no chance to check in
-- between, so they check for themselves.
-- +goose StatementBegin
CREATE FUNCTION expect(actual bigint, wanted bigint, code text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF actual IS DISTINCT FROM wanted THEN
        RAISE EXCEPTION 'expected % rows, found %', wanted, actual USING ERRCODE = code;
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP TABLE links, deferreds, entries, executions, heartbeat, shards;
DROP FUNCTION expect(bigint, bigint, text);
