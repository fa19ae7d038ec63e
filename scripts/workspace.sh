#!/usr/bin/env bash
# Prints the path of a go.work with all modules of the repository, for tools that
# take folders and would stop where a module ends: GOWORK=$(scripts/workspace.sh).
# It is not committed, because with a workspace Go refuses -modfile, which pins the
# tools. Plain go commands need no workspace: by their import paths,
# github.com/cruster/cruster/... are the packages of all modules.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

dir=.cache/workspace
mkdir -p "$dir"
cat >"$dir/go.work.$$" <<-WORK
	go $(awk '/^go / { print $2 }' go.mod)

	use (
		../..
		../../abi
		../../guest-sdk/go
		../../modules/examples/libraries
	)
WORK
mv -f "$dir/go.work.$$" "$dir/go.work"
echo "$PWD/$dir/go.work"
