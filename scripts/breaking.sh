#!/usr/bin/env bash
# Checks the protobuf contract: its style, and that clients of an older version can
# go on with this one.
#
#   scripts/breaking.sh [REF]
#
# REF is the base of the comparison: by default the last release, that is the latest tag
# vX.Y.Z below HEAD; before the first release, where this branch left main, or on main
# itself the commit before. In a shallow clone neither may be there: it then says so
# and fails, and `git fetch --unshallow --tags` helps.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# As the product is built, so that shared packages are compiled once.
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

fail() { echo "breaking: $*" >&2; exit 1; }

default_ref() {
	local branch base
	if git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null; then return; fi
	for branch in origin/main main; do
		base=$(git merge-base HEAD "$branch" 2>/dev/null) || continue
		if [[ $base == "$(git rev-parse HEAD)" ]]; then base=$(git rev-parse --verify --quiet HEAD~1) || continue; fi
		echo "$base"
		return
	done
	fail "this clone has no release and no older commit to compare with; git fetch --unshallow --tags, or name one: make breaking AGAINST=REF"
}

ref=${1:-}
[[ -n $ref ]] || ref=$(default_ref)
git rev-parse --verify --quiet "$ref^{commit}" >/dev/null || fail "$ref is not in this clone; git fetch it first"

work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-breaking.XXXXXX")
trap 'rm -rf "$work"' EXIT
git archive "$ref" -- api/cruster | tar -x -C "$work"
cp buf.yaml "$work/"

buf=$(go tool -modfile=tools/buf/go.mod -n buf)
"$buf" lint
echo "style ok"
"$buf" breaking --against "$work"
echo "nothing breaks clients of $(git describe --tags --always "$ref")"
