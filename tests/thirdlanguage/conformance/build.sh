#!/bin/sh
# Builds the guest of the conformance suite and of the conversation of abi/ABI.md: build.sh OUT.wasm
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../build.sh" "${1:?usage: build.sh OUT.wasm}" "$here"
