-- Modules, deployments, and the SQL steps that modules brought along.

-- +goose Up

CREATE TABLE modules (
    digest     text COLLATE "C" PRIMARY KEY,
    wasm       bytea NOT NULL,
    manifest   bytea NOT NULL,
    created_at bigint NOT NULL
);
-- Wasm is read far more often than written; do not spend CPU on compressing it.
ALTER TABLE modules ALTER COLUMN wasm SET STORAGE EXTERNAL;

CREATE TABLE deployments (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    digest     text COLLATE "C" NOT NULL REFERENCES modules,
    version    bigint NOT NULL,
    config     bytea NOT NULL,   -- msgpack of a map of strings
    allow_http bytea NOT NULL,   -- msgpack of a list of strings
    updated_at bigint NOT NULL,
    PRIMARY KEY (namespace, name)
);

CREATE TABLE guest_migrations (
    namespace  text COLLATE "C" NOT NULL,
    deployment text COLLATE "C" NOT NULL,
    version    bigint NOT NULL,
    name       text NOT NULL,
    checksum   bytea NOT NULL,   -- SHA-256 of the text
    applied_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, deployment, version)
);

-- +goose Down
DROP TABLE guest_migrations, deployments, modules;
