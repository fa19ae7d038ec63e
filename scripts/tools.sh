#!/usr/bin/env bash
# Tools written in Go: builds one, unless it is there, and prints its path.
#
#   scripts/tools.sh golangci-lint
#   scripts/tools.sh grpcurl
#
# Their versions are pinned in tools/, and the built programs are kept outside of the tree (CRUSTER_TOOLS_CACHE):
# golangci-lint alone takes a minute to compile, and Go drops its own cache after some days, and with `go clean
# -cache`.
#
# Both are built without large parts that nothing here uses: golangci-lint with the linters that .golangci.yml
# enables, a few of more than a hundred, and grpcurl without xDS, which is half of its code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in
golangci-lint) folder=tools/golangci module=github.com/golangci/golangci-lint/v2 ;;
grpcurl) folder=tools module=github.com/fullstorydev/grpcurl ;;
*)
	sed -n '4,5s/^# *//p' scripts/tools.sh >&2
	exit 2 ;;
esac

# For this machine, whatever the caller builds for.
export GOOS='' GOARCH='' GOWORK=off CGO_ENABLED=0 GOFLAGS=-trimpath

# enabled prints the linters and formatters that .golangci.yml enables.
enabled() { awk '/^  enable:/ { list = 1; next } list && /^    - / { print $2; next } { list = 0 }' .golangci.yml; }

# few prints the list of linters of golangci-lint, a file in Go, with the enabled ones alone, and the reporter of
# type errors.
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

# without_parts leaves parts out of the source of a tool.
without_parts() {
	case $1 in
	golangci-lint) edit "$2/pkg/lint/lintersdb/builder_linter.go" few ;;
	grpcurl)
		edit "$2/cmd/grpcurl/grpcurl.go" sed '/"google.golang.org\/grpc\/xds"$/d'
		edit "$2/grpcurl.go" sed '/\/credentials\/xds"$/d; /if strings.HasPrefix(address, "xds:/,/^\t}$/d' ;;
	esac
}

# edit FILE COMMAND… has a command print the file anew.
edit() {
	"${@:2}" "$1" >"$1.edited"
	mv "$1.edited" "$1"
}

# build makes the tool from a copy of its module.
build() {
	local work source
	work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-tool.XXXXXX")
	trap "rm -rf '$work'" EXIT # of the subshell; the variable is gone by then
	echo "tools.sh: building $1, this once" >&2
	source=$(go -C "$folder" mod download -json "$module" | awk -F '"' '$2 == "Dir" { print $4 }')
	cp -R "$source" "$work/source"
	chmod -R u+w "$work/source"
	without_parts "$1" "$work/source"
	cp "$folder/go.sum" "$work/go.sum"
	{ cat "$folder/go.mod" && echo "replace $module => $work/source"; } >"$work/go.mod"
	go -C "$folder" build -modfile "$work/go.mod" -ldflags='-s -w' -o "$tool.$$" "$module/cmd/$1" >&2
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
