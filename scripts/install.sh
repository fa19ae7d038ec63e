#!/usr/bin/env bash
# Installs what is missing on a Debian or Ubuntu machine, and nothing else.
#
#   scripts/install.sh gcc postgres protoc rust rust-lint c
#
# Where the parts are there already it changes nothing and needs no network.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

have() { command -v "$1" >/dev/null 2>&1; }

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
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

# install_rust adds the target to a toolchain of rustup, where there is one that
# can download; else it takes Debian's compiler and the source of its library.
install_rust() {
	if scripts/rust.sh check >/dev/null 2>&1; then return; fi
	if have rustup; then
		echo "install: rustup target add wasm32-wasip1" >&2
		if rustup target add wasm32-wasip1 && scripts/rust.sh check >/dev/null; then return; fi
	fi
	apt_install rustc-web cargo-web rust-web-src lld-19 wasi-libc
	scripts/rust.sh check >/dev/null
}

if ! have go; then
	echo "install: Go $(awk '/^go / { print $2 }' go.mod) or newer is needed: https://go.dev/dl/" >&2
	exit 1
fi

for part in "$@"; do
	case $part in
	gcc) # the race detector links through a C compiler; the product does not
		have gcc && [[ -e /usr/include/stdlib.h ]] || apt_install gcc libc6-dev ;;
	postgres)
		scripts/postgres.sh install ;;
	protoc)
		have protoc && [[ -e /usr/include/google/protobuf/timestamp.proto || -e /usr/local/include/google/protobuf/timestamp.proto ]] || apt_install protobuf-compiler ;;
	rust) # guests in Rust; macros run in the compiler, and link as the machine's own programs do
		have cc || apt_install gcc libc6-dev
		install_rust ;;
	rust-lint)
		scripts/rust.sh check lint >/dev/null 2>&1 || apt_install rustc-web cargo-web rust-web-clippy rustfmt-web ;;
	c) # the guest in C, which needs no library
		have clang-19 && have wasm-ld-19 || apt_install clang-19 lld-19 ;;
	*)
		echo "install: unknown part $part" >&2
		exit 2 ;;
	esac
done
