#!/bin/sh
# Builds a module with the SDK in C: build.sh OUT.wasm FOLDER, which holds its C files.
# Needs clang and wasm-ld of LLVM 19 (Debian: clang-19 lld-19), no libc and no sysroot.
set -eu

out=${1:?usage: build.sh OUT.wasm FOLDER}
sources=${2:?usage: build.sh OUT.wasm FOLDER}
here=$(cd "$(dirname "$0")" && pwd)
clang=${CLANG:-clang-19}
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT

# What C leaves undefined is a trap here, so that a mistake in this module ends the
# invocation and never goes on with wrong data. An unsigned number that wraps around
# is a trap too: C allows it, but no code here intends it. A wrong function type traps
# in WebAssembly by itself.
for source in "$here"/sdk/*.c "$sources"/*.c; do
	"$clang" --target=wasm32 -std=c17 -ffreestanding -Os -flto \
		-mbulk-memory -I "$here/sdk" \
		-Wall -Wextra -Wconversion -Wshadow -Wstrict-prototypes -Werror \
		-fsanitize=undefined,unsigned-integer-overflow -fsanitize-trap=all -fno-sanitize=function \
		-c "$source" -o "$objects/$(basename "$source").o"
done

# The stack lies first in memory, so that its overflow is a trap as well.
"${WASM_LD:-wasm-ld-19}" --no-entry --stack-first -z stack-size=65536 --lto-O2 --gc-sections --strip-all \
	-o "$out" "$objects"/*.o
