#!/usr/bin/env bash
# Looks for dependencies with known weaknesses, licences that do not fit, and crates
# that should not be there.
#
#   scripts/audit.sh           all of it; asks two databases over the network
#   scripts/audit.sh offline   the parts without a database: licences, bans and sources of crates
#
# govulncheck looks up the Go modules, and reports vulnerable functions that are called; cargo-deny looks up the
# crates in Cargo.lock, of guests and of the client, as deny.toml says. A database that is out of reach is a failure:
# nothing was checked then.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cargo_deny_version=0.20.2

failed=0
complain() { echo "audit: $*" >&2; failed=1; }

# cargo_deny prints the path of cargo-deny. It is built once, outside of the tree.
cargo_deny() {
	local root=${CRUSTER_TOOLS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cruster/tools}/cargo-deny-$cargo_deny_version
	if [[ ! -x $root/bin/cargo-deny ]]; then
		echo "audit: building cargo-deny $cargo_deny_version, this once" >&2
		# Make hands its jobserver only to commands that look like another make.
		env -u MAKEFLAGS -u MFLAGS cargo install --quiet --locked --root "$root" "cargo-deny@$cargo_deny_version" >&2
	fi
	echo "$root/bin/cargo-deny"
}

audit_go() {
	local govulncheck folder report
	# As the product is built, so that shared packages are compiled once.
	export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"
	govulncheck=$(go tool -modfile=tools/govulncheck/go.mod -n govulncheck)
	for folder in . abi guest-sdk/go modules/examples/libraries; do
		if report=$("$govulncheck" -C "$folder" ./... 2>&1); then
			echo "govulncheck $folder ok"
			continue
		fi
		echo "$report" >&2
		if grep -qE 'fetching vulnerabilities|Get "https?://|status code: [45]' <<<"$report"; then
			complain "govulncheck: the database of Go's vulnerabilities is out of reach; nothing was checked"
			return
		fi
		complain "govulncheck: $folder calls code with known vulnerabilities"
	done
}

audit_crates() {
	local deny folder
	scripts/install.sh rust
	deny=$(cargo_deny)
	for folder in . clients/rust; do
		(cd "$folder" && "$deny" --locked --offline check --hide-inclusion-graph bans licenses sources) || complain "cargo deny: crates that $folder/deny.toml does not allow"
	done
	[[ ${1:-} != offline ]] || return 0
	if ! "$deny" --locked fetch db; then
		complain "cargo deny: the database of advisories for crates is out of reach; they were not checked"
		return
	fi
	for folder in . clients/rust; do
		(cd "$folder" && "$deny" --locked check --disable-fetch --hide-inclusion-graph advisories) || complain "cargo deny: crates of $folder with advisories"
	done
}

case ${1:-} in
'')
	audit_go
	audit_crates ;;
offline) audit_crates offline ;;
*)
	sed -n '5,6s/^# *//p' scripts/audit.sh >&2
	exit 2 ;;
esac
exit "$failed"
