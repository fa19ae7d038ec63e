#!/bin/sh
# Regenerates the Go code of the protobuf contract; with --verify, only tells
# whether the committed code is what the contract yields.
#
# Needs protoc (Debian: apt-get install protobuf-compiler). The plugins come from
# tools/go.mod, so their versions are pinned with the rest of the toolchain.
set -eu
cd "$(dirname "$0")"

out=.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if [ "${1:-}" = --verify ]; then
	out=$tmp/out
	mkdir "$out"
fi

for plugin in google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc; do
	(cd ../tools && go build -o "$tmp/" "$plugin")
done

PATH="$tmp:$PATH" protoc -I . \
	--go_out="$out" --go_opt=paths=source_relative \
	--go-grpc_out="$out" --go-grpc_opt=paths=source_relative \
	cruster/v1/*.proto

[ "$out" = . ] && exit 0
for f in "$out"/cruster/v1/*.go; do
	# The header names the version of protoc, which differs between machines.
	if ! diff -u -I '^// .*protoc' "cruster/v1/$(basename "$f")" "$f"; then
		echo "api: the generated code is stale; run api/generate.sh" >&2
		exit 1
	fi
done
