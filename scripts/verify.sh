#!/usr/bin/env bash
# Checks that generated files are up to date: the protobuf code, also of the clients in other languages,
# docs/errors.md, the error codes of the Rust SDK, the golden vectors, and go.mod and go.sum of each module; and that
# the tests exist that docs/GUARANTEES.md names. All is generated into a folder of its own and compared, so it works
# in a tree with changes, and changes nothing. `make generate` and `go mod tidy` update stale files.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As the product is built, so that its dependencies are compiled once for both.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-verify.XXXXXX")
trap 'rm -rf "$work"' EXIT

stale() { echo "verify: $* is stale; run make generate" >&2; exit 1; }

scripts/install.sh protoc rust python node
api/generate.sh --verify
echo "protobuf code ok"
scripts/clients.sh verify

go run ./cmd/cruster-host errors -o markdown >"$work/errors.md"
diff -u docs/errors.md "$work/errors.md" || stale docs/errors.md
echo "docs/errors.md ok"

go run ./scripts/rustcodes >"$work/table.rs"
diff -u guest-sdk/rust/cruster/src/codes/table.rs "$work/table.rs" || stale guest-sdk/rust/cruster/src/codes/table.rs
echo "error codes of the Rust SDK ok"

go run ./scripts/guarantees docs/GUARANTEES.md

# abi is a module by itself, so a copy of it can rewrite its own files.
cp -R abi "$work/abi"
go -C "$work/abi" test -run '^(TestVectors|TestRefusals|TestSpecification)$' . -update >/dev/null
diff -ur abi "$work/abi" || stale abi
echo "vectors ok"

# tidy runs `go mod tidy -diff` in the folder of a module. To look at the tests of
# dependencies it wants modules that no build needs. Where these are neither in the
# module cache nor to be had, a weaker check takes its place: all imports of all
# packages and tests are found with go.mod and go.sum as they are, and every direct
# requirement is imported.
tidy() {
	local name
	name=$(cd "$1" && go list -m)
	if (cd "$1" && go mod tidy -diff) >"$work/diff" 2>"$work/complaint"; then
		echo "$name: go.mod is tidy"
		return
	fi
	if [[ -s $work/diff ]]; then
		cat "$work/diff" >&2
		echo "verify: $1/go.mod or $1/go.sum is not tidy; run go mod tidy there" >&2
		exit 1
	fi
	if ! grep -qE 'module lookup disabled|dial tcp|no such host|i/o timeout|connection refused|Forbidden' "$work/complaint"; then
		cat "$work/complaint" >&2
		exit 1
	fi
	(cd "$1" && offline)
	echo "$name: go.mod is complete and has nothing unused (offline; go mod tidy also asked for: $(grep -oE '[^ ]+: module lookup disabled|[^ ]+ .*(dial|lookup).*' "$work/complaint" | head -n1 | cut -c1-100))"
}

offline() {
	local used required unused
	used=$(for os in linux darwin; do
		GOOS=$os GOPROXY=off go list -mod=readonly -deps -test -f '{{with .Module}}{{.Path}}{{end}}' ./...
	done | sort -u)
	required=$(go mod edit -json | awk -F '"' '/"Require"/ { inside = 1 } /"(Replace|Exclude|Tool|Retract|Ignore)"/ { inside = 0 }
		inside && /"Path"/ { if (path) print path; path = $4 } inside && /"Indirect": true/ { path = "" } END { if (path) print path }' | sort -u)
	unused=$(comm -13 <(echo "$used") <(echo "$required") | grep . || true)
	[[ -z $unused ]] || { echo "verify: $PWD/go.mod requires what nothing imports: $unused" >&2; exit 1; }
}

# Not the modules of the tools: nothing is shipped from them, to be tidy they want the
# imports of the tools' tests, and a tool whose go.mod lacks something does not build.
for module in . abi guest-sdk/go modules/examples/libraries; do tidy "$module"; done
