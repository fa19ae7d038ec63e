#!/usr/bin/env bash
# Runs tests on both stores, in the rooms of the host with the race detector. What many packages need is
# done once for all of them: one Postgres server is started, and all guests are
# compiled into a cache on disk. What `make test` has built before is in CRUSTER_TEST_MODULES
# (the examples) and CRUSTER_TEST_BINARY. All guests are handed on in CRUSTER_TEST_GUESTS and
# CRUSTER_TEST_RUST_MODULES, and the host that kills itself in CRUSTER_TEST_CRASH_BINARY; without these the
# tests build them themselves.
#
#   scripts/test.sh [arguments of go test]      default: all packages of all modules
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As the product is built, so that its dependencies are compiled once for all;
# only the race detector needs cgo.
export CGO_ENABLED=0
# Make hands its jobserver only to commands that look like another make, which tests may be.
unset MAKEFLAGS MFLAGS

work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-test.XXXXXX")
trap 'scripts/postgres.sh stop "$work/pg" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT

export CRUSTER_WASM_CACHE=${CRUSTER_WASM_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cruster/wasm}
mkdir -p "$CRUSTER_WASM_CACHE"
find "$CRUSTER_WASM_CACHE" -type f -mtime +7 -delete # those of guests that have changed since; the hosts of the tests keep it below 4 GiB

# The same flags as those of the tests make the same binaries.
guests=$(git ls-files -co --exclude-standard 'modules/examples/*.go' 'tests/guests/*.go' 'bench/guests/*.go' 'host/wasm/testdata/guests/*.go' | xargs -n1 dirname | sort -u | grep -vxF modules/examples/libraries |
	sed 's|^|./|' | GOOS=wasip1 GOARCH=wasm xargs go list -f '{{if eq .Name "main"}}{{.Dir}}{{end}}')
examples=$(readlink -f "${CRUSTER_TEST_MODULES:-none}")
build_guest() {
	local package=${1#"$PWD/"} built=$examples/${1##*/}.wasm
	if [[ $package == modules/examples/* && -e $built ]]; then
		ln -s "$built" "$work/guests/${package//\//-}.wasm"
	else
		GOOS=wasip1 GOARCH=wasm go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o "$work/guests/${package//\//-}.wasm" "./$package"
	fi
}
mkdir "$work/guests"
export -f build_guest && export work examples
# A linker uses little more than one core.
xargs -P "$(nproc)" -I{} bash -euo pipefail -c 'build_guest "$1"' _ {} <<<"$guests"
for script in modules/examples/*/build.sh tests/thirdlanguage/*/build.sh; do # an example that is a Go module of its own; the guests in C
	folder=$(dirname "$script")
	if [[ $folder == modules/examples/* && -e $examples/${folder##*/}.wasm ]]; then
		ln -s "$examples/${folder##*/}.wasm" "$work/guests/${folder//\//-}.wasm"
	else
		"$script" "$work/guests/${folder//\//-}.wasm"
	fi
done
export CRUSTER_TEST_GUESTS=$work/guests
scripts/rust.sh build-guests "$work/rust"
export CRUSTER_TEST_RUST_MODULES=$work/rust
go run -trimpath ./scripts/warm "$CRUSTER_WASM_CACHE" "$work"/guests/*.wasm "$work"/rust/*.wasm

if [[ -z ${CRUSTER_TEST_POSTGRES:-} ]]; then
	chmod 755 "$work" # the server runs as a user of its own
	CRUSTER_POSTGRES_FSYNC=off scripts/postgres.sh start "$work/pg" $$
	CRUSTER_TEST_POSTGRES=$(scripts/postgres.sh dsn "$work/pg")
	export CRUSTER_TEST_POSTGRES
fi

# The race detector does not look into SQLite, which is C turned into Go, into the
# engine's compiler, and into our own rewriting of modules, which only compute: their
# work on memory of their own took most of the time of the tests. RATIONALE.md says why
# it is these packages and no others.
quiet=()
for package in modernc.org/sqlite/lib modernc.org/libc modernc.org/memory github.com/tetratelabs/wazero/internal/{leb128,wasm/binary} \
	github.com/tetratelabs/wazero/internal/engine/wazevo/{frontend,ssa,backend/...} github.com/cruster/cruster/host/wasm/binary; do
	quiet+=("$package=-race=false")
done
# It hands pointers into that memory to SQLite, and to look each up in Go's own finds nothing.
quiet+=(zombiezen.com/go/sqlite=-d=checkptr=0)

# `make lint` has vetted the code. Tests wait for timers, disks and processes: more of them, and of packages, than
# there are cores keep the cores busy. tests/crash, alone on two cores, needs a third of its time to compute.
common=(-vet=off -timeout 12h -parallel $(($(nproc) * 2)))
# The engine files compiled code under its own version, which a test binary does not know: it is told, so that
# tests and the hosts that they start use the same.
engine=$(go list -m -f '{{.Version}}' github.com/tetratelabs/wazero)
# Without tables for debuggers, which traces do not need, linkers are done sooner.
common+=(-ldflags "-s -w -X github.com/tetratelabs/wazero/internal/version.version=$engine")
raced() { CGO_ENABLED=1 go test -race "${common[@]}" "${quiet[@]/#/-gcflags=}" "$@"; }

if [[ $# -gt 0 ]]; then
	raced -p $(($(nproc) * 2)) "$@"
	exit
fi

go build -trimpath -ldflags='-s -w' -tags crashpoints -o "$work/cruster-host-crashpoints" ./cmd/cruster-host
export CRUSTER_TEST_CRASH_BINARY=$work/cruster-host-crashpoints

# Each package runs once. These run without the race detector, and with it in `make prove` (part race). They take
# whole hosts through the same thing in many settings, mostly by replay, through one move after the other, or through
# faults of guests. Hosts that are killed, taken over, and overrun with requests are under the detector in
# tests/faults.
in_settings=$(printf '%s\n' tests/{crash,conformance,examples,golden,hostile,upgrade})
# So do the stores and the sandbox, whose tests are statements and programs, mostly one at a time, and take three times as
# long under it. They are under it as the packages above use them, many requests at a time.
in_depth=$(printf '%s\n' journal/{postgres,sqlite} host/wasm)
# The detector does not look into other processes: packages that have no host in their own run
# without it only; tests/entities stays, for the client.
in_processes=$(printf '%s\n' tests/{newproject,kill9,storm,clients,operations,pages,cli,release,devloop} bench)
# It finds nothing where all happens in one goroutine. A package is under it if it, or a test of it, has goroutines, or
# state for them, or a host. Linking all others a second time would take longer than their tests.
parallel='\bgo func|^\s*go [a-zA-Z]|\bsync\.|\batomic\.|\bchan\b|\berrgroup\.|\bsynctest\.'
hosts='\b(harness\.(Engine|EachSetting|EachStore|Sandbox)|(host|wasm|grpcserver)\.New)\b'
in_sequence=$(go list -f '{{.ImportPath}} {{.Dir}}' github.com/cruster/cruster/tests/... github.com/cruster/cruster/... |
	while read -r package folder; do
		grep -qE "$parallel|$hosts" "$folder"/*.go || echo "${package#github.com/cruster/cruster/}"
	done)
unraced=$(printf '%s\n' "$in_depth" "$in_settings" "$in_processes" "$in_sequence" | awk '!seen[$0]++')
# shellcheck disable=SC2086 # one word a package
if grep -rnE --include='*_test.go' "$hosts" $in_processes; then
	echo "test.sh: this host is in the process of the test: the package needs the race detector" >&2
	exit 1
fi
under() { sed 's|^|github.com/cruster/cruster/|' <<<"$1"; }
plain() { go test -trimpath "${common[@]}" "$@"; }
# Three lanes side by side. Packages with other processes wait most: behind the others they would leave the cores idle.
lanes=()
# shellcheck disable=SC2046 # one word a package
plain -p 1 $(under "$in_processes") &
lanes+=($!)
# shellcheck disable=SC2046 # one word a package
plain -p "$(nproc)" $(under "$unraced" | grep -vxFf <(under "$in_processes")) &
lanes+=($!)

# go test begins packages in the order of its arguments. The slowest ones come first, so that none of them is left
# over at the end. All others by import paths, because ./... ends where another module begins: abi and guest-sdk/go
# are modules of their own.
longest=(tests/faults host tests/scenarios host/execution host/entity api/grpcserver)
all=$(go list github.com/cruster/cruster/tests/... github.com/cruster/cruster/...)
packages=$({
	printf 'github.com/cruster/cruster/%s\n' "${longest[@]}"
	echo "$all"
} | awk '!seen[$0]++' | grep -vxFf <(under "$unraced"))
failed=0
# shellcheck disable=SC2086 # one word a package
raced -p $(($(nproc) + 1)) $packages || failed=1
for lane in "${lanes[@]}"; do wait "$lane" || failed=1; done
exit $failed
