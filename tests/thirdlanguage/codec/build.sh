#!/bin/sh
# Builds the guest of the tests of values: build.sh OUT.wasm
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../build.sh" "${1:?usage: build.sh OUT.wasm}" "$here"
