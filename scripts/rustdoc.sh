#!/usr/bin/env bash
# Stands in for rustdoc (RUSTDOC) while Cargo tests the examples in the documentation of a crate, and builds the pages
# of the crate as well, with warnings denied, from the compiled dependencies. `cargo doc` would read all of them once
# more.
set -euo pipefail

rustdoc "$@"
[[ " $* " == *" --test "* ]] || exit 0

pages=$(mktemp -d "${TMPDIR:-/tmp}/cruster-rustdoc.XXXXXX")
trap 'rm -rf "$pages"' EXIT
arguments=()
while (($# > 0)); do
	case $1 in
	--test | --nocapture | --no-run) ;;
	--test-*) [[ $1 == *=* ]] || shift ;; # its value is the next argument
	*) arguments+=("$1") ;;
	esac
	shift
done
rustdoc "${arguments[@]}" -D warnings --out-dir "$pages" >&2
