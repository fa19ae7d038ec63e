#!/usr/bin/env bash
# Tools written in Go: builds one, unless it is there, and prints its path.
#
#   scripts/tools.sh golangci-lint
#   scripts/tools.sh grpcurl
#
# Their versions are pinned in tools/, and what Go builds of them is kept outside of the tree
# (CRUSTER_TOOLS_CACHE): golangci-lint alone takes a minute to compile, and Go drops what
# it has compiled after some days, and with `go clean -cache`.
#
# golangci-lint has more than a hundred linters, each with the code of others, and takes minutes to compile with all of
# them. It is built with those that .golangci.yml enables.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

lint_module=github.com/golangci/golangci-lint/v2
case ${1:-} in
golangci-lint) folder=tools/golangci package=$lint_module/cmd/golangci-lint ;;
grpcurl) folder=tools package=github.com/fullstorydev/grpcurl/cmd/grpcurl ;;
*)
	sed -n '4,5s/^# *//p' scripts/tools.sh >&2
	exit 2 ;;
esac

# For this machine, whatever the caller builds for.
export GOOS='' GOARCH='' GOWORK=off CGO_ENABLED=0 GOFLAGS=-trimpath

# enabled prints the linters and formatters that .golangci.yml enables.
enabled() { awk '/^  enable:/ { list = 1; next } list && /^    - / { print $2; next } { list = 0 }' .golangci.yml; }

# few prints the list of linters of golangci-lint, a file in Go, with the enabled ones alone, and the one that reports
# errors of types.
few() {
	awk -v enabled="$(enabled | tr '\n' ' ')golinters" '
		BEGIN { n = split(enabled, names, " "); for (i = 1; i <= n; i++) keep[names[i]] = 1; kept = 1 }
		/"github.com\/golangci\/golangci-lint\/v2\/pkg\/golinters/ {
			name = $1
			gsub(/.*\/|"/, "", name)
			if (keep[name]) print
			next
		}
		/linter\.NewConfig\(/ { name = $0; sub(/.*NewConfig\(/, "", name); sub(/\..*/, "", name); kept = keep[name] }
		/^\t}, nil$/ { kept = 1 }
		kept' "$1"
}

# lint_with_few makes a folder with go.mod for golangci-lint with few linters, and prints the file.
lint_with_few() {
	local work=$1 source list=pkg/lint/lintersdb/builder_linter.go
	source=$(go -C "$folder" mod download -json "$lint_module" | awk -F '"' '$2 == "Dir" { print $4 }')
	mkdir "$work/source"
	cp -R "$source"/{cmd,internal,jsonschema,pkg,go.mod} "$work/source/"
	chmod -R u+w "$work/source"
	few "$source/$list" >"$work/source/$list"
	cp "$folder/go.sum" "$work/go.sum"
	{ cat "$folder/go.mod" && echo "replace $lint_module => $work/source"; } >"$work/go.mod"
	echo "$work/go.mod"
}

build() {
	local work modfile=()
	work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-tool.XXXXXX")
	trap "rm -rf '$work'" EXIT # of the subshell; the variable is gone by then
	echo "tools.sh: building $1, this once" >&2
	[[ $1 != golangci-lint ]] || modfile=(-modfile "$(lint_with_few "$work")")
	go -C "$folder" build "${modfile[@]}" -ldflags='-s -w' -o "$tool.$$" "$package" >&2
	mv "$tool.$$" "$tool"
}

cache=${CRUSTER_TOOLS_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/cruster/tools}
key=$({ go env GOVERSION GOOS GOARCH; enabled; cat "$folder/go.mod" "$folder/go.sum" scripts/tools.sh; } | sha256sum | cut -c1-16)
tool=$cache/$1-$key
if [[ ! -x $tool ]]; then
	mkdir -p "$cache"
	( # one process at a time
		! command -v flock >/dev/null || flock 9
		[[ -x $tool ]] || build "$1"
	) 9>"$tool.lock"
fi
echo "$tool"
