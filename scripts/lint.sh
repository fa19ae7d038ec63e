#!/usr/bin/env bash
# gofmt, go vet and staticcheck, for the host and for the code that runs inside
# the sandbox.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l)
if [[ -n $unformatted ]]; then
	printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi
echo "gofmt ok"

go vet ./...
# unsafeptr: buffers cross the boundary as addresses; that is what the SDK is for.
GOOS=wasip1 GOARCH=wasm go vet -unsafeptr=false ./guest-sdk/go ./modules/examples/...
echo "vet ok"

go tool -modfile=tools/go.mod staticcheck ./...
echo "staticcheck ok"

scripts/docs.sh
