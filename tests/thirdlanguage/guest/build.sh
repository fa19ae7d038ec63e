#!/bin/sh
# Builds the guest of these tests with the SDK of the example: build.sh OUT.wasm
set -eu
here=$(cd "$(dirname "$0")" && pwd)
exec "$here/../../../modules/examples/greeter-c/build.sh" "${1:?usage: build.sh OUT.wasm}" "$here"
