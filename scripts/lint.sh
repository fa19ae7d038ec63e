#!/usr/bin/env bash
# golangci-lint (.golangci.yml lists its checks), for the host and for the code
# that runs inside the sandbox; rustfmt and clippy; the clients in other
# languages; and the checks of words and documentation.
#
#   scripts/lint.sh          all of it
#   scripts/lint.sh go       golangci-lint alone; further arguments are handed to it
#   scripts/lint.sh format   bring the Go code into form
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As the product is built, so that its dependencies are compiled once for both.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

golangci() {
	local tool
	tool=$(scripts/tools.sh golangci-lint)
	# A sixth of its time was collecting garbage.
	GOWORK=$(scripts/workspace.sh) GOGC=400 GOMEMLIMIT=3GiB "$tool" "$@"
}

lint_go() {
	# Folders named testdata are left out by ./..., and have code as well.
	local unformatted
	unformatted=$(git ls-files -co --exclude-standard '*.go' | grep /testdata/ | xargs -r gofmt -l)
	if [[ -n $unformatted ]]; then
		printf 'gofmt: not formatted:\n%s\n' "$unformatted" >&2
		exit 1
	fi
	golangci run "$@" ./... ./abi/... ./guest-sdk/go/...
	# The code for the sandbox; its tests run natively. Functions that only the host
	# calls look unused.
	GOOS=wasip1 GOARCH=wasm golangci run "$@" --tests=false --disable=unused ./guest-sdk/go/... ./modules/examples/... ./modules/examples/libraries/... ./tests/guests/... ./bench/guests/...
	echo "golangci-lint ok"
}

case ${1:-} in
'')
	scripts/words.sh
	lint_go
	scripts/rust.sh lint
	scripts/clients.sh lint
	scripts/docs.sh ;;
go) lint_go "${@:2}" ;;
format) golangci fmt "${@:2}" ;;
*)
	sed -n '6,8s/^# *//p' scripts/lint.sh >&2
	exit 2 ;;
esac
