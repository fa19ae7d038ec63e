# The base of the scripts of all pages.
#
# The working folder is a clone as a reader has it behind `make build`. CRUSTER_ADDR and
# the variables of `serve` name the addresses of this test.
set -euo pipefail
shopt -s expand_aliases

# page runs a block of the page, the first is 1; further arguments are expressions of sed.
page() {
	local n=$1 expression text
	shift
	local expressions=(-e "s/127\.0\.0\.1:7600/$CRUSTER_ADDR/g" -e "s/127\.0\.0\.1:8600/$CRUSTER_HTTP_ADDR/g")
	for expression in "$@"; do expressions+=(-e "$expression"); done
	text=$(sed "${expressions[@]}" "$BLOCKS/$n.sh")
	echo "$n" >>"$BLOCKS/ran"
	echo "--- block $n: $text" >&2
	eval "$text"
}

# elsewhere says which test runs a block.
elsewhere() {
	echo "$1" >>"$BLOCKS/ran"
	grep -rqs "^func $2(" "$ROOT/tests" || { echo "there is no test $2" >&2; return 1; }
}

# program writes a block of code to a file: program LANGUAGE N FILE.
program() { cp "$BLOCKS/$2.$1" "$3"; }

# A host of the page runs on in the background, and takes the place of the one before.
cruster-host() {
	case ${1-} in
	serve | dev)
		stop_host
		command cruster-host "$@" >>"$BLOCKS/host.log" 2>&1 &
		host=$!
		ready
		;;
	*) command cruster-host "$@" ;;
	esac
}

ready() { command cruster-host module list --retry-for 60s >/dev/null; }

host=
stop_host() { end_host TERM; }
kill_host() { end_host KILL; }
end_host() {
	if [[ -n $host ]]; then
		kill "-$1" "$host"
		wait "$host" || true
		host=
	fi
}
trap kill_host EXIT

# The outputs of make are there.
make() { command make -C "$ROOT" --dry-run "$@" >/dev/null; }

# contains checks that a file has a text.
contains() { grep -qF -- "$2" "$1" || { echo "no \"$2\" in:"; cat "$1"; return 1; }; } >&2
