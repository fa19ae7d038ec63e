#!/bin/sh
# Builds the module: build.sh OUT.wasm
# It is a Go module of its own, so that only it requires the libraries.
set -eu

out=${1:?usage: build.sh OUT.wasm}
case $out in /*) ;; *) out=$PWD/$out ;; esac
cd "$(dirname "$0")"
GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o "$out" .
