#!/usr/bin/env bash
# Builds the adapters of peers into a folder, fetches Restate's server, and writes the
# names of those that are there into the file "built", with commas. A peer that cannot
# be had is left out, and the reason is said.
#
#   bench/peers/build.sh DIR
set -euo pipefail
out=$(readlink -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
mkdir -p "$out"

restate=1.7.12 # of the server; the versions of Go modules are in go.mod

built=()
for peer in dbos go-workflows restate; do
	if CGO_ENABLED=0 go build -o "$out/$peer" "./$peer"; then
		built+=("$peer")
	else
		echo "bench: $peer does not build and is left out" >&2
	fi
done

# fetch_restate takes the server from its npm package. Scripts of packages do not run.
fetch_restate() {
	command -v npm >/dev/null || { echo "bench: no npm to fetch Restate's server with" >&2; return 1; }
	npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$out/npm" "@restatedev/restate-server@$restate" >&2 || return 1
	ln -sf "$(find "$out/npm/node_modules/@restatedev" -path '*/bin/restate-server' -type f | head -n1)" "$out/restate-server"
	"$out/restate-server" --version >&2
}

if [[ " ${built[*]} " == *" restate "* ]] && ! { [[ -x $out/restate-server ]] && "$out/restate-server" --version 2>/dev/null | grep -qF "$restate"; } && ! fetch_restate; then
	echo "bench: Restate's server cannot be had; restate is left out" >&2
	built=("${built[@]/restate/}")
fi
(IFS=,; echo "${built[*]}") >"$out/built"
