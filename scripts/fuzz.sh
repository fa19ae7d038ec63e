#!/usr/bin/env bash
# Runs every fuzz target of the tree for a while each; findings land in the
# package's testdata/fuzz, to be committed as cases.
#
#   scripts/fuzz.sh [TIME]      default: 20s
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

time=${1:-20s}
git grep -hoE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' >/dev/null || { echo "no fuzz targets" >&2; exit 1; }
git grep -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | while IFS=: read -r file target; do
	target=${target#func }
	echo "== $(dirname "$file") $target"
	# In its folder: Go fuzzes only packages of the current module.
	go -C "$(dirname "$file")" test . -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null
done
