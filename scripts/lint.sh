#!/usr/bin/env bash
# gofmt, go vet and staticcheck, for the host and for the code that runs inside
# the sandbox; rustfmt, clippy and rustdoc; and the checks of words and
# documentation.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As the product is built, so that its dependencies are compiled once for both.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs -r gofmt -l)
if [[ -n $unformatted ]]; then
	printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi
echo "gofmt ok"

scripts/words.sh

go vet ./...
echo "vet ok"

# -n builds the tool and tells where it is: built by itself it is not affected by
# the GOOS below.
staticcheck=$(go tool -modfile=tools/go.mod -n staticcheck)
"$staticcheck" ./...
# The code for the sandbox; its tests run natively. Functions that only the host
# calls look unused (U1000).
GOOS=wasip1 GOARCH=wasm "$staticcheck" -tests=false -checks=inherit,-U1000 ./guest-sdk/go/... ./modules/examples/...
echo "staticcheck ok"

scripts/rust.sh lint
scripts/docs.sh
