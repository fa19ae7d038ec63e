#!/usr/bin/env bash
# Installs the missing tools on a Debian or Ubuntu machine, and nothing else.
#
#   scripts/install.sh gcc postgres protoc rust rust-lint c pages python node
#
# Where the parts are there already it changes nothing and needs no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

have() { command -v "$1" >/dev/null 2>&1; }

missing=() # packages

# find_missing adds the packages of a part that is not there.
find_missing() {
	case $1 in
	gcc) # the race detector links through a C compiler; the product does not
		have gcc && [[ -e /usr/include/stdlib.h ]] || missing+=(gcc libc6-dev) ;;
	postgres)
		scripts/postgres.sh check >/dev/null 2>&1 || missing+=(postgresql) ;;
	protoc) # the compiler, and the files that every contract imports
		have protoc && [[ -e /usr/include/google/protobuf/timestamp.proto || -e /usr/local/include/google/protobuf/timestamp.proto ]] || missing+=(protobuf-compiler libprotobuf-dev) ;;
	rust) # guests in Rust; macros run in the compiler, and link as the machine's own programs do
		have cc || missing+=(gcc libc6-dev)
		have_rust || missing+=(rustc-web cargo-web rust-web-src lld-19 wasi-libc) ;;
	rust-lint)
		scripts/rust.sh check lint >/dev/null 2>&1 || missing+=(rustc-web cargo-web rust-web-clippy rustfmt-web) ;;
	python) # the client in Python; its packages are in an environment of their own
		have python3 && python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || missing+=(python3 python3-venv) ;;
	node) # the client in TypeScript; its packages are in a folder of their own
		have node && have npm || missing+=(nodejs npm) ;;
	c) # the guests in C, which need no library
		have clang-19 && have wasm-ld-19 || missing+=(clang-19 lld-19) ;;
	pages) # what pages of the documentation use besides
		have curl || missing+=(curl)
		have sqlite3 || missing+=(sqlite3) ;;
	*)
		echo "install: unknown part $1" >&2
		exit 2 ;;
	esac
}

# have_rust tells whether a toolchain builds guests. One of rustup's is given the
# target if it lacks nothing else; where it cannot be, Debian's compiler and the
# source of its library are taken.
have_rust() {
	if scripts/rust.sh check >/dev/null 2>&1; then return; fi
	have rustup || return
	echo "install: rustup target add wasm32-wasip1" >&2
	rustup target add wasm32-wasip1 && scripts/rust.sh check >/dev/null
}

apt_install() {
	local sudo=()
	if ! have apt-get; then
		echo "install: please install: $*" >&2
		exit 1
	fi
	if [[ $(id -u) -ne 0 ]]; then
		if ! have sudo; then
			echo "install: run this once as root: apt-get install -y --no-install-recommends $*" >&2
			exit 1
		fi
		sudo=(sudo)
	fi
	echo "install: $*" >&2
	if [[ " $* " == *" postgresql "* && ! -e /etc/postgresql-common/createcluster.conf ]]; then
		# The package would start a server of its own beside ours.
		"${sudo[@]}" mkdir -p /etc/postgresql-common
		echo "create_main_cluster = false" | "${sudo[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
	fi
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

if ! have go; then
	echo "install: Go $(awk '/^go / { print $2 }' go.mod) or newer is needed: https://go.dev/dl/" >&2
	exit 1
fi

for part in "$@"; do find_missing "$part"; done
if [[ ${#missing[@]} -gt 0 ]]; then
	mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
	apt_install "${missing[@]}"
	# The packages have to bring the missing tools.
	missing=()
	for part in "$@"; do find_missing "$part"; done
	[[ ${#missing[@]} -eq 0 ]] || { echo "install: still missing: ${missing[*]}" >&2; exit 1; }
fi
