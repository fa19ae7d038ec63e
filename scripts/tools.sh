#!/usr/bin/env bash
# Tools written in Go: builds one, unless it is there, and prints its path.
#
#   scripts/tools.sh golangci-lint
#   scripts/tools.sh grpcurl
#
# Their versions are pinned in tools/, and what Go builds of them is kept outside of the tree
# (CRUSTER_TOOLS_CACHE): golangci-lint alone takes minutes to compile, and Go drops what
# it has compiled after some days, and with `go clean -cache`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
golangci-lint) folder=tools/golangci package=github.com/golangci/golangci-lint/v2/cmd/golangci-lint ;;
grpcurl) folder=tools package=github.com/fullstorydev/grpcurl/cmd/grpcurl ;;
*)
	sed -n '4,5s/^# *//p' scripts/tools.sh >&2
	exit 2 ;;
esac

# For this machine, whatever the caller builds for.
export GOOS='' GOARCH='' GOWORK=off CGO_ENABLED=0 GOFLAGS=-trimpath

cache=${CRUSTER_TOOLS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cruster/tools}
key=$({ go env GOVERSION GOOS GOARCH; cat "$folder/go.mod" "$folder/go.sum" scripts/tools.sh; } | sha256sum | cut -c1-16)
tool=$cache/$1-$key
if [[ ! -x $tool ]]; then
	mkdir -p "$cache"
	( # one process at a time
		! command -v flock >/dev/null || flock 9
		if [[ ! -x $tool ]]; then
			echo "tools.sh: building $1, this once" >&2
			go -C "$folder" build -ldflags='-s -w' -o "$tool.$$" "$package" >&2
			mv "$tool.$$" "$tool"
		fi
	) 9>"$tool.lock"
fi
echo "$tool"
