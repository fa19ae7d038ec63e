#!/usr/bin/env bash
# Rust for guests: finds a toolchain that builds for WebAssembly, and uses it.
#
#   scripts/rust.sh build-guests OUTDIR [FOLDER…]  build the guests in the folders (default: all of the workspace) as NAME-rust.wasm
#   scripts/rust.sh test [ARGS…]                   cargo test, natively, with doc tests, and rustdoc; warnings denied
#   scripts/rust.sh lint                           rustfmt and clippy; warnings denied
#   scripts/rust.sh cargo ARGS…                    cargo in this folder, set up to build with --target wasm32-wasip1
#   scripts/rust.sh check [lint]                   say which toolchain is taken; fails if there is none
#
# A toolchain that has the standard library for the target is taken as it is:
# `rustup target add wasm32-wasip1`. Otherwise a toolchain with its source builds
# the library, as Debian's packages can (scripts/install.sh rust). Nothing is
# installed here, and with the crates fetched nothing needs the network.
#
# The standard library is built once for each compiler and kept outside of the
# tree (CRUSTER_RUST_CACHE), where all clones find it. Everything else is built in
# the clone: Cargo tells crates of a workspace apart by their paths inside of it,
# so two clones that share a folder take each other's code for their own.
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=wasm32-wasip1

# Make hands its jobserver only to commands that look like another make; Cargo
# would complain that it cannot open it.
unset MAKEFLAGS MFLAGS

fail() { echo "rust.sh: $*" >&2; exit 1; }

usage() { sed -n '4,8s/^# *//p' scripts/rust.sh >&2; exit 2; }

# toolchains prints the folders with a rustc and a cargo, the preferred one first.
toolchains() {
	local dir
	for dir in "$(dirname "$(command -v rustc || echo /usr/bin/rustc)")" /usr/bin; do
		if [[ -x $dir/rustc && -x $dir/cargo ]]; then echo "$dir"; fi
	done
}

has_target() { [[ -n $(compgen -G "$1/lib/rustlib/$target/lib/libstd-*.rlib") ]]; }

has_source() { [[ -e $1/lib/rustlib/src/rust/library/std/Cargo.toml ]]; }

# wasi_libc prints the folder of the C library that the standard library stands on.
wasi_libc() {
	local dir
	for dir in /usr/lib/wasm32-wasi /usr/share/wasi-sysroot/lib/wasm32-wasi; do
		if [[ -e $dir/crt1-reactor.o ]]; then echo "$dir"; return; fi
	done
	return 1
}

wasm_linker() {
	local name
	for name in wasm-ld-19 wasm-ld $(compgen -c wasm-ld- | sort -Vru); do
		if command -v "$name"; then return; fi
	done
	return 1
}

# use_guest_toolchain sets PATH, sysroot and kind: whether the standard library
# comes "ready" or from "source".
use_guest_toolchain() {
	local dir
	for dir in $(toolchains); do
		sysroot=$("$dir/rustc" --print sysroot 2>/dev/null) || continue
		if has_target "$sysroot"; then
			kind=ready
		elif has_source "$sysroot" && wasi_libc >/dev/null && wasm_linker >/dev/null; then
			kind=source
		else
			continue
		fi
		PATH=$dir:$PATH
		return
	done
	fail "no Rust on this machine builds for $target; install one with: scripts/install.sh rust"
}

# use_native_toolchain sets PATH to a toolchain that has the cargo commands named.
use_native_toolchain() {
	local dir part
	for dir in $(toolchains); do
		for part in "$@"; do
			PATH=$dir:$PATH cargo "$part" --version >/dev/null 2>&1 || continue 2
		done
		PATH=$dir:$PATH
		return
	done
	fail "no Rust on this machine has ${*:-a compiler}; install it with: scripts/install.sh rust-lint"
}

# guest_environment makes `cargo build --target wasm32-wasip1` work, wherever it
# is run. All is said in variables: a .cargo/config in the tree would be in the
# way of those whose toolchain needs none of it.
guest_environment() {
	use_guest_toolchain
	# Paths of sources end up in the messages of panics. Those of the workspace are
	# relative to it already; these would tell where the home folder is.
	local flags="--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/crates"
	if [[ $kind == source ]]; then
		local library
		library=$(built_library)
		flags+=" --sysroot=$library"
		CARGO_TARGET_WASM32_WASIP1_LINKER=$(wasm_linker)
		export CARGO_TARGET_WASM32_WASIP1_LINKER
	fi
	export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="$flags"
	# They would take the place of the flags above.
	unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS CARGO_BUILD_RUSTFLAGS
}

# built_library prints the folder of a standard library for the target, laid out
# as rustup would. It is built unless it is there already, by one process at a time.
built_library() {
	local cache=${CRUSTER_RUST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cruster/rust} key
	key=$({ rustc -vV; cat "$(wasi_libc)/libc.a"; declare -f build_library; } | sha256sum | cut -c1-16)
	mkdir -p "$cache"
	if [[ ! -d $cache/$key ]]; then
		(
			! command -v flock >/dev/null || flock 9
			[[ -d $cache/$key ]] || build_library "$cache/$key"
		) 9>"$cache/$key.lock" >&2
	fi
	echo "$cache/$key"
}

# build_library builds the standard library into a folder, which is there whole
# or not at all. It holds machine code as well as what link-time optimisation
# reads, so that builds with and without it can use it.
build_library() {
	local work libs
	echo "rust.sh: building the standard library for $target, this once"
	work=$(mktemp -d "$1.XXXXXX")
	trap "rm -rf '$work'" EXIT # of the subshell; the variable is gone by then
	mkdir -p "$work/crate/src"
	touch "$work/crate/src/lib.rs"
	cat >"$work/crate/Cargo.toml" <<-'TOML'
		[package]
		name = "empty"
		edition = "2021"
		[profile.release]
		opt-level = "s"
		panic = "abort"
		codegen-units = 1
		[workspace]
	TOML
	# The library uses features of the compiler that others may not.
	RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$work/built \
		CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS="-Cembed-bitcode=yes --remap-path-prefix=$(readlink -f "$sysroot/lib/rustlib/src/rust")=/rust --remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rust" \
		cargo build --quiet --manifest-path "$work/crate/Cargo.toml" --release --target "$target" -Zbuild-std=std,panic_abort
	libs=$work/sysroot/lib/rustlib/$target/lib
	mkdir -p "$libs/self-contained"
	cp "$work/built/$target/release/deps"/*.rlib "$libs/"
	rm -f "$libs"/libempty*
	cp "$(wasi_libc)"/{crt1-command.o,crt1-reactor.o,libc.a} "$libs/self-contained/"
	mv -T "$work/sysroot" "$1"
}

# guests prints the folders of all guests.
guests() { ls -d modules/examples/*/rust tests/guests/*/rust bench/guests/*/rust 2>/dev/null || true; }

# package prints the name of the package in a folder.
package() { awk -F '"' '/^\[/ { section = $0 } section == "[package]" && /^name *=/ { print $2; exit }' "$1/Cargo.toml"; }

# guest_name prints the name of a folder's guest: modules/examples/orders/rust
# is orders-rust.
guest_name() { echo "$(basename "$(dirname "$1")")-rust"; }

build_guests() {
	local out=$1 folder name twice packages=()
	shift
	[[ $# -gt 0 ]] || set -- $(guests)
	[[ $# -gt 0 ]] || fail "the workspace has no guests"
	twice=$(for folder in "$@"; do guest_name "${folder%/}"; done | sort | uniq -d)
	[[ -z $twice ]] || fail "two guests would have one name:" $twice
	for folder in "$@"; do
		[[ -e $folder/Cargo.toml ]] || fail "$folder is not the folder of a guest"
		packages+=(-p "$(package "$folder")")
	done

	guest_environment
	CARGO_TARGET_DIR=.cache/rust cargo build --locked --quiet --release --target "$target" --lib "${packages[@]}"
	mkdir -p "$out"
	for folder in "$@"; do
		name=$(package "$folder")
		# Renamed into place: who reads the old one reads it to its end.
		cp ".cache/rust/$target/release/${name//-/_}.wasm" "$out/$(guest_name "${folder%/}").wasm.$$"
		mv -f "$out/$(guest_name "${folder%/}").wasm.$$" "$out/$(guest_name "${folder%/}").wasm"
	done
}

# linted calls cargo with clippy as the compiler of the workspace. So the code of the tests is checked as it is
# compiled; `cargo clippy` would look at all crates a second time.
linted() { CLIPPY_ARGS='-Dwarnings__CLIPPY_HACKERY__' RUSTC_WORKSPACE_WRAPPER=clippy-driver cargo "$@"; }

lint() {
	use_native_toolchain fmt clippy
	cargo fmt --all --check
	echo "rustfmt ok"
	# All libraries, also without tests: for a build of their own all would be compiled with other features.
	linted test --locked --quiet --no-run --workspace --lib --tests --examples
	echo "clippy ok"
}

check() {
	if [[ ${1:-} == lint ]]; then
		use_native_toolchain fmt clippy
	else
		use_guest_toolchain
		echo "$(rustc --version), standard library from $kind"
	fi
}

verb=${1:-}
[[ $# -eq 0 ]] || shift
case $verb in
build-guests)
	[[ $# -ge 1 ]] || usage
	build_guests "$@" ;;
test)
	use_native_toolchain clippy
	RUSTDOC=$PWD/scripts/rustdoc.sh linted test --locked --quiet "$@" ;;
lint) lint ;;
cargo)
	guest_environment
	cd "$here"
	exec cargo "$@" ;;
check) check "$@" ;;
*) usage ;;
esac
