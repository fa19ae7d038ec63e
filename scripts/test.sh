#!/usr/bin/env bash
# Runs tests with the race detector, on both stores: one Postgres server is
# started for all packages, and compiled guests are shared through a cache on
# disk. What `make test` has built before is handed on in CRUSTER_TEST_MODULES
# and CRUSTER_TEST_BINARY; without them the tests build it themselves.
#
#   scripts/test.sh [arguments of go test]      default: ./...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CRUSTER_WASM_CACHE=${CRUSTER_WASM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cruster/wasm}
mkdir -p "$CRUSTER_WASM_CACHE"

if [[ -z ${CRUSTER_TEST_POSTGRES:-} ]]; then
	pgdir=$(mktemp -d "${TMPDIR:-/tmp}/cruster-pg.XXXXXX")
	trap 'scripts/postgres.sh stop "$pgdir" >/dev/null 2>&1 || true; rm -rf "$pgdir"' EXIT
	scripts/postgres.sh start "$pgdir" $$
	CRUSTER_TEST_POSTGRES=$(scripts/postgres.sh dsn "$pgdir")
	export CRUSTER_TEST_POSTGRES
fi

[[ $# -gt 0 ]] || set -- ./...
go test -race -timeout 15m "$@"
