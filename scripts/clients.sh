#!/usr/bin/env bash
# The clients in other languages than Go: generates their code, checks and tests them.
#
#   scripts/clients.sh generate          generate the code of the protobuf contract
#   scripts/clients.sh verify            compare the committed code with the generated code; changes nothing
#   scripts/clients.sh lint              rustfmt and clippy; mypy; tsc
#   scripts/clients.sh test              the tests that need no host, and rustdoc; tests/clients has those with one
#   scripts/clients.sh rust NAME         build an example of the Rust client, and print its path
#   scripts/clients.sh typescript NAME   build an example of the TypeScript client, and print its path
#   scripts/clients.sh python ARGS…      Python with the client and its packages, in this folder
#
# The packages of Python and Node.js are installed once for each set of versions, outside of the tree
# (CRUSTER_CLIENTS_CACHE), by the hashes in clients/python/requirements.txt and
# clients/typescript/package-lock.json. Crates are pinned by clients/rust/Cargo.lock, and built in
# the clone, as scripts/rust.sh says why. They have a folder of their own: Cargo names the libraries
# of guests alike in both workspaces, and each would take the libraries of the other for its own.
set -euo pipefail
shopt -s inherit_errexit # a folder of packages whose installation failed is not complete
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

# Make hands its jobserver only to commands that look like another make.
unset MAKEFLAGS MFLAGS

usage() { sed -n '4,10s/^# *//p' scripts/clients.sh >&2; exit 2; }

# A crate has the features that the packages built beside it ask for. Each build asks for the whole workspace, and for
# the tests where possible: then crates are compiled once. The compiler of the workspace is clippy, which checks the
# code that it compiles.
crates() {
	(cd clients/rust && CLIPPY_ARGS='-Dwarnings__CLIPPY_HACKERY__' RUSTC_WORKSPACE_WRAPPER=clippy-driver \
		CARGO_TARGET_DIR=$root/.cache/clients-rust cargo "$@")
}

cache=${CRUSTER_CLIENTS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cruster/clients}

# installed prints the folder of the packages of a client: installed NAME KEY INSTALL. INSTALL fills
# it unless it is there already, by one process at a time. It is there whole or not at all: its last
# file is the mark.
installed() {
	local dir
	dir=$cache/$1-$(sha256sum <<<"$2" | cut -c1-16)
	mkdir -p "$cache"
	if [[ ! -e $dir/complete ]]; then
		(
			! command -v flock >/dev/null || flock 9
			if [[ ! -e $dir/complete ]]; then
				echo "clients.sh: installing the packages of the client in $1, this once"
				rm -rf "$dir"
				mkdir "$dir"
				"$3" "$dir"
				touch "$dir/complete"
			fi
		) 9>"$dir.lock" >&2
	fi
	echo "$dir"
}

install_python() {
	python3 -m venv "$1"
	"$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r clients/python/requirements.txt
}

install_typescript() {
	cp clients/typescript/package.json clients/typescript/package-lock.json "$1/"
	npm ci --prefix "$1" --silent --ignore-scripts --no-audit --no-fund
}

python_environment() { installed python "$(python3 -VV; cat clients/python/requirements.txt)" install_python; }

# use_node_modules puts the packages where the compiler and Node.js look for them.
use_node_modules() {
	local dir
	dir=$(installed typescript "$(node --version; cat clients/typescript/package-lock.json)" install_typescript)
	[[ $(readlink clients/typescript/node_modules) == "$dir/node_modules" ]] || ln -sfn "$dir/node_modules" clients/typescript/node_modules
}

# build_typescript compiles the client, its examples and its tests: one process at a time, because
# who runs a program must not read a file that is half written.
build_typescript() {
	use_node_modules
	mkdir -p "$root/.cache"
	(
		! command -v flock >/dev/null || flock 9
		cd clients/typescript && node_modules/.bin/tsc --incremental --tsBuildInfoFile dist/.tsbuildinfo
	) 9>"$root/.cache/clients-typescript.lock"
}

in_python() {
	local environment
	environment=$(python_environment)
	PYTHONPATH=$root/clients/python PYTHONDONTWRITEBYTECODE=1 "$environment/bin/python" "$@"
}

codes() { CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath" go run ./cmd/cruster-host errors -o json; }

# generate_LANGUAGE writes the code into a folder.
generate_rust() { crates run --locked --quiet --bin generate -- "$root/api" "$1"; }

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
	codes | in_python clients/python/codes.py >"$1/_codes.py"
}

generate_typescript() {
	use_node_modules
	mkdir -p "$1/proto"
	protoc -I api -I clients --plugin=clients/typescript/node_modules/.bin/protoc-gen-ts_proto --ts_proto_out="$1/proto" \
		--ts_proto_opt=outputServices=grpc-js,env=node,esModuleInterop=true,importSuffix=.js,forceLong=bigint,useExactTypes=false,outputJsonMethods=false,annotateFilesWithVersion=false \
		api/cruster/v1/*.proto clients/status.proto
	codes | node clients/typescript/codes.mjs >"$1/codes.ts"
}

# generate writes the code of all clients below a folder that is laid out as clients is.
generate() {
	work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-clients.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$1/rust/cruster-client/src/proto" "$1/python/cruster_client" "$1/typescript/src"
	generate_rust "$1/rust/cruster-client/src/proto"
	generate_python "$1/python/cruster_client"
	generate_typescript "$1/typescript/src"
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
	crates test --locked --quiet --workspace --no-run
	(cd clients/python && "$root/scripts/clients.sh" python -m mypy --cache-dir "$root/.cache/mypy")
	build_typescript
	echo "clients ok"
}

verb=${1:-}
[[ $# -eq 0 ]] || shift
case $verb in
generate) generate "$root/clients" ;;
verify) verify ;;
lint) lint ;;
test)
	RUSTDOC=$root/scripts/rustdoc.sh crates test --locked --quiet --workspace
	in_python -m unittest discover --start-directory clients/python/tests --top-level-directory clients/python
	build_typescript
	node --test clients/typescript/dist/test/*.js ;;
typescript)
	[[ $# -eq 1 ]] || usage
	build_typescript >&2
	echo "$root/clients/typescript/dist/examples/$1.js" ;;
rust)
	[[ $# -eq 1 ]] || usage
	crates build --locked --quiet --workspace --example "$1" >&2
	echo "$root/.cache/clients-rust/debug/examples/$1" ;;
python)
	environment=$(python_environment)
	cd "$here"
	PYTHONPATH=$root/clients/python PYTHONDONTWRITEBYTECODE=1 exec "$environment/bin/python" "$@" ;;
*) usage ;;
esac
