#!/usr/bin/env bash
# The checks before each commit: the parts of `make test` that concern the changes, in a few minutes.
#
#   scripts/check.sh
#
# Words and documentation; golangci-lint, which remembers the packages that have not changed; rustfmt and clippy if
# code in Rust has changed since the last commit on main; and tests of Go packages, which Go repeats if a dependency
# of theirs has changed. They run without the race detector, and for the most part without Postgres: subtests on it,
# and the packages whose tests start processes or need it, are left to `make test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# As the product is built, so that its dependencies are compiled once for all.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
changed() { git diff --name-only "$base" -- "$@"; git ls-files --others --exclude-standard -- "$@"; }

scripts/words.sh
scripts/docs.sh
scripts/lint.sh go

if [[ -n $(changed '*.rs' '*Cargo.toml' ':!clients') ]]; then
	scripts/rust.sh lint
	scripts/rust.sh test
fi
if [[ -n $(changed 'clients/*' ':!clients/go') ]]; then
	scripts/clients.sh lint
	scripts/clients.sh test
fi

# Guests are compiled once for all packages, as in scripts/test.sh, and kept while the engine has the same version.
export CRUSTER_WASM_CACHE=${CRUSTER_WASM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cruster/wasm}
mkdir -p "$CRUSTER_WASM_CACHE"
packages=$(go list github.com/cruster/cruster/abi/... github.com/cruster/cruster/guest-sdk/go/... ./... |
	grep -vE '/(journal/postgres|bench|tests/(clients|cli|crash|devloop|entities|faults|hostile|kill9|newproject|operations|pages|release|storm|upgrade))$')
# shellcheck disable=SC2086 # one word a package
go test -vet=off -timeout 12h -skip '/^postgres$|//^postgres$|^TestPostgres' $packages
