#!/usr/bin/env bash
# The clients in other languages: generates their code, checks and tests them.
#
#   scripts/clients.sh generate          generate the code of the protobuf contract
#   scripts/clients.sh verify            tell whether the committed code is what the contract yields; changes nothing
#   scripts/clients.sh lint              rustfmt, clippy and rustdoc; mypy
#   scripts/clients.sh test              the tests that need no host; tests/clients has those with one
#   scripts/clients.sh program NAME      build an example of the Rust client, and print its path
#   scripts/clients.sh python ARGS…      Python with the client and what it needs, in this folder
#
# What Python needs is installed once for each set of versions, outside of the tree
# (CRUSTER_CLIENTS_CACHE), by the hashes in clients/python/requirements.txt. Crates are pinned by
# clients/rust/Cargo.lock, and built in the clone, as scripts/rust.sh says why.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# Make hands its jobserver only to what it takes for another make.
unset MAKEFLAGS MFLAGS

usage() { sed -n '4,9s/^# *//p' scripts/clients.sh >&2; exit 2; }

crates() { (cd clients/rust && CARGO_TARGET_DIR=$root/.cache/clients-rust cargo "$@"); }

# python_environment prints the folder of an environment with all packages. It is there whole or
# not at all: its last file is the mark.
python_environment() {
	local cache=${CRUSTER_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cruster/clients} key dir
	key=$({ python3 -VV; cat clients/python/requirements.txt; } | sha256sum | cut -c1-16)
	dir=$cache/python-$key
	mkdir -p "$cache"
	if [[ ! -e $dir/complete ]]; then
		(
			! command -v flock >/dev/null || flock 9
			if [[ ! -e $dir/complete ]]; then
				echo "clients.sh: installing the packages of the Python client, this once"
				rm -rf "$dir"
				python3 -m venv "$dir"
				"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r clients/python/requirements.txt
				touch "$dir/complete"
			fi
		) 9>"$dir.lock" >&2
	fi
	echo "$dir"
}

in_python() {
	local environment
	environment=$(python_environment)
	PYTHONPATH=$root/clients/python PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" "$@"
}

# generate_rust and generate_python write the code into a folder.
generate_rust() { crates run --locked --quiet -p generate -- "$root/api" "$1"; }

generate_python() {
	local file
	mkdir -p "$1/proto"
	in_python -m grpc_tools.protoc -I api -I clients --python_out="$work" --pyi_out="$work" --grpc_python_out="$work" \
		api/cruster/v1/*.proto clients/status.proto
	# The compiler takes the folders of the contract for packages of Python; ours has another name.
	for file in "$work"/cruster/v1/*.py* "$work"/status_pb2.py*; do
		sed -E 's/^from cruster\.v1 import/from cruster_client.proto import/' "$file" >"$1/proto/$(basename "$file")"
	done
	printf '"""The contract, as scripts/clients.sh makes it of the protobuf files."""\n' >"$1/proto/__init__.py"
	CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath" go run ./cmd/cruster-host errors -o json | in_python clients/python/codes.py >"$1/_codes.py"
}

# generate writes the code of all clients below a folder that is laid out as clients is.
generate() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-clients.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$1/rust/cruster-client/src/proto" "$1/python/cruster_client"
	generate_rust "$1/rust/cruster-client/src/proto"
	generate_python "$1/python/cruster_client"
}

verify() {
	local out file stale=0
	out=$(mktemp -d "${TMPDIR:-/tmp}/cruster-clients-verify.XXXXXX")
	(generate "$out")
	while IFS= read -r file; do
		diff -u "clients/$file" "$out/$file" || stale=1
	done < <(cd "$out" && find . -type f | sort)
	rm -rf "$out"
	((stale == 0)) || { echo "clients.sh: the generated code of the clients is stale; run make generate" >&2; exit 1; }
	echo "code of the clients ok"
}

lint() {
	crates fmt --all --check
	crates clippy --locked --quiet --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" crates doc --locked --quiet --workspace --no-deps
	(cd clients/python && "$root/scripts/clients.sh" python -m mypy --cache-dir "$root/.cache/mypy")
	echo "clients ok"
}

verb=${1:-}
[[ $# -eq 0 ]] || shift
case $verb in
generate) generate "$root/clients" ;;
verify) verify ;;
lint) lint ;;
test)
	crates test --locked --quiet --workspace
	in_python -m unittest discover --start-directory clients/python/tests --top-level-directory clients/python ;;
program)
	[[ $# -eq 1 ]] || usage
	crates build --locked --quiet -p cruster-client --example "$1" >&2
	echo "$root/.cache/clients-rust/debug/examples/$1" ;;
python)
	environment=$(python_environment)
	cd "$here"
	PYTHONPATH=$root/clients/python PYTHONDONTWRITEBYTECODE=1 exec "$environment/bin/python" "$@" ;;
*) usage ;;
esac
