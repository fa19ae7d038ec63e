#!/usr/bin/env bash
# Runs the long proofs: all of them, one part, or one part on one store. In full they take some hours. A run can be
# limited to some minutes, and the next one draws other seeds.
#
#   scripts/prove.sh [-n COUNT] [-m MINUTES] [-j JOBS] [PART [STORE]]
#
#   lives         random lives of executions: 1,000,000 on memory, 10,000 on sqlite and on postgres
#   differential  random operations on a store and on the oracle: 20,000 checks of sqlite and of postgres
#   messages      random messages to entities: 10,000 stories on sqlite and on postgres
#   kills         kill -9 of hosts under load: 100 kills of each host on sqlite and on postgres
#   memory        5,000 inputs of 3 MiB, and 400 deferreds of 4 MB, in 512 MiB, on sqlite and on postgres; takes 40 GB of disk
#
# Parts that have all stores, and run once, are tests of `make test` in full: it has pairs of languages, stores and modes,
# and these have all combinations, and loads of full size (package internal/extenttest):
#
#   crash         engines and the real binary killed at every passing of every fault point, and 3,000 power cuts; an hour or so
#   conformance   the cases of tests/conformance
#   examples      the examples; one charges 10,000 periods while its host is killed twenty times
#   faults        each call of each scenario to the store fails in every possible way
#   upgrade       moves and forks, and the scenarios of tests/scenarios
#   storm         thousands of executions that want something at the same moment; half an hour or so
#   transfers     10,000 transfers under locks while hosts are killed; an hour or so
#   race          packages that `make test` runs without the race detector, under it: all whose host is in the process, and
#                 those in which all happens in one goroutine
#
#   -n  how many lives, checks, kills or repetitions, in place of these
#   -m  minutes after which a part on a store begins nothing more; default: no limit
#   -j  processes side by side; default: one a processor. Kills have one process, with several hosts
#
# It prints how much was run, and how long that took. A part ends at its first failure, with the output of the test and
# with the command that repeats it; other parts go on. Its files are in $TMPDIR, or in memory
# where that is not set and there is /dev/shm: small transactions of many small stores are bound by the disk otherwise.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export CGO_ENABLED=0

usage() { sed -n '5,28s/^# \{0,3\}//p' "$0" >&2; exit 2; }

only_count='' minutes='' processes=$(nproc)
while getopts n:m:j: option; do
	case $option in
	n) only_count=$OPTARG ;;
	m) minutes=$OPTARG ;;
	j) processes=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))
for number in "${only_count:-1}" "${minutes:-1}" "$processes"; do [[ $number =~ ^[1-9][0-9]*$ ]] || usage; done
only="${1:-*} ${2:-*}"
case "${1:-lives} ${2:-sqlite}" in
'lives memory' | 'lives sqlite' | 'lives postgres' | 'differential sqlite' | 'differential postgres' | 'messages sqlite' | 'messages postgres' | \
	'kills sqlite' | 'kills postgres' | 'memory sqlite' | 'memory postgres') ;;
'crash sqlite' | 'conformance sqlite' | 'examples sqlite' | 'faults sqlite' | 'upgrade sqlite' | 'storm sqlite' | 'transfers sqlite' | 'race sqlite')
	[[ -z ${2:-} ]] || usage # they have all stores
	;;
*) usage ;;
esac

# The parts "kills" and "memory" write to disk: their files are large, or have to survive.
disk=$(mktemp -d "${TMPDIR:-/tmp}/cruster-prove.XXXXXX") work=$disk given=${CRUSTER_TEST_POSTGRES:-}
if [[ -z ${TMPDIR:-} && -w /dev/shm ]]; then work=$(mktemp -d /dev/shm/cruster-prove.XXXXXX); fi
finish() {
	for place in "$work" "$disk"; do
		if [[ -d $place/pg ]]; then TMPDIR=$(dirname "$place") scripts/postgres.sh stop "$place/pg" >/dev/null 2>&1 || true; fi
		rm -rf "$place"
	done
}
trap finish EXIT
export work minutes

# start_postgres FOLDER starts a server there, unless one was given or runs there.
start_postgres() {
	[[ -z $given ]] || return 0
	chmod 755 "$1" # the server runs as a user of its own
	scripts/postgres.sh start "$1/pg" $$
	CRUSTER_TEST_POSTGRES=$(scripts/postgres.sh dsn "$1/pg")
	export CRUSTER_TEST_POSTGRES
}

# prove PART STORE PACKAGE COUNT SIZE PROCESSES runs a part in pieces of SIZE, each a process of its own with a seed of
# its own: what tests keep until they end (schemas, folders) stays small, and time is looked at between two pieces.
prove() {
	# shellcheck disable=SC2053 # a pattern
	[[ "$1 $2" == $only ]] || return 0
	export part=$1 store=$2 package=$3 count=${only_count:-$4} size=$5 begun binary
	binary=$work/${package//\//-}.test
	local place=$work
	case $part in kills | memory) place=$disk ;; esac
	TMPDIR=$(dirname "$place")
	export TMPDIR
	[[ $store != postgres ]] || start_postgres "$place"
	[[ -e $binary ]] || go test -c -trimpath -o "$binary" "./$package"
	: >"$work/done"
	begun=$(date +%s)
	rm -f "$work/failed"
	seq $(((count + size - 1) / size)) | xargs -P "$6" -I{} bash -euo pipefail -c 'piece {}'
	report
	if [[ -e $work/failed ]]; then failed=1; fi
}

# piece N runs the N-th piece of a part, unless there was a failure or time is up.
piece() {
	if [[ -e $work/failed || (-n $minutes && $(date +%s) -ge $((begun + minutes * 60))) ]]; then return 0; fi
	local n=$((count - ($1 - 1) * size)) seed log=$work/$1.log run status=0 sizes=() arguments=()
	# Many short tests leave much garbage, and little at a time. Every other piece has one processor: it is faster by a sixth,
	# and goroutines take turns there in other ways than side by side.
	local settings=(GOGC=800)
	if (($1 % 2)) && [[ $part == lives || $part == messages ]]; then settings+=(GOMAXPROCS=1); fi
	# A piece with few kills has too little load to prove anything: the part "kills" always runs in full.
	if [[ $n -gt $size || $part == kills ]]; then n=$size; fi
	seed=$(od -An -N7 -tu8 /dev/urandom | tr -d ' ')
	case $part in
	lives) sizes=(CRUSTER_LIVES_STORE="$store" CRUSTER_LIVES=$n CRUSTER_SEED="$seed") run='^TestRandomLives$' ;;
	differential) run='^TestDifferential$' arguments=(-rapid.checks=$n -rapid.seed="$seed") ;;
	messages) sizes=(CRUSTER_MESSAGES=$n CRUSTER_SEED="$seed") run="^TestRandomMessages\$/^$store\$" ;;
	kills) sizes=(CRUSTER_KILLS=$n CRUSTER_SEED="$seed") run="^Test(UpdatesAreHandledOnce|KillNineLosesNothing)\$/./^$store\$" ;;
	memory) sizes=(CRUSTER_TEST_EXTENT=full) run="^TestLarge(InputsBesideASlowActivity|DeferredsAtOnce)\$/^$store\$" ;;
	esac
	(cd "$package" && env "${settings[@]}" "${sizes[@]}" "$binary" -test.run "$run" -test.timeout 2h "${arguments[@]}") >"$log" 2>&1 || status=$?
	if [[ $status -ne 0 ]]; then
		touch "$work/failed"
		cat "$log"
		echo "$part $store: FAILED; again: ${settings[*]} ${sizes[*]} go test ./$package -count=1 -run '$run' ${arguments[*]}"
		return 0
	fi
	rm "$log"
	echo "$n" >>"$work/done"
	# A sign of life, once in a while.
	if mkdir "$work/minute-$begun-$((($(date +%s) - begun) / 300))" 2>/dev/null; then report; fi
}

# report says how much of a part was run.
report() {
	local seconds=$(($(date +%s) - begun))
	awk -v what="$part $store" -v of="$count" -v seconds="$seconds" '{ n += $1 }
		END { printf "%s: %d of %d, %dm%02ds, %.2f/s\n", what, n, of, seconds / 60, seconds % 60, n / (seconds ? seconds : 1) }' "$work/done"
}
export -f piece report

# in_full PART TESTS PACKAGE… runs tests of `make test` in full.
in_full() {
	local part=$1 tests=$2
	shift 2
	# shellcheck disable=SC2053 # a pattern
	[[ "$part all" == $only ]] || return 0
	suite "$part" CRUSTER_TEST_EXTENT=full go test -run "$tests" "${@/#/./}"
}

# suite PART COMMAND… runs a command of go test with a Postgres server.
suite() {
	local part=$1 begun
	shift
	start_postgres "$disk"
	begun=$(date +%s)
	if env TMPDIR="$(dirname "$disk")" "$@" -vet=off -count=1 -timeout 12h; then
		echo "$part: $((($(date +%s) - begun) / 60)) minutes"
	else
		failed=1
		echo "$part: FAILED; again: $*"
	fi
}

failed=0
prove lives memory host/execution 1000000 1000 "$processes"
for store in sqlite postgres; do prove lives $store host/execution 10000 50 "$processes"; done
for store in sqlite postgres; do prove differential $store journal/$store 20000 20 "$processes"; done
for store in sqlite postgres; do prove messages $store host/entity 10000 20 "$processes"; done
for store in sqlite postgres; do prove kills $store tests/kill9 100 25 1; done
for store in sqlite postgres; do prove memory $store tests/storm 1 1 1; done
in_full crash '^(TestCrashAtEveryBoundary|TestTheBinaryKillsItself|TestScheduleCrashes|TestPowerCut)$' tests/crash host journal/sqlite
in_full conformance . tests/conformance
in_full examples . tests/examples
in_full faults . tests/faults
in_full upgrade . tests/upgrade tests/scenarios
in_full storm . tests/storm
in_full transfers '^TestTransfersUnderLocks$' tests/entities
# shellcheck disable=SC2053 # a pattern
if [[ "race all" == $only ]]; then
	in_process=$(go list github.com/cruster/cruster/{abi,guest-sdk/go,tests}/... ./... |
		grep -vE '/tests/(newproject|clients|cli|kill9|pages|devloop|storm|operations|release)$')
	# shellcheck disable=SC2086 # one word a package
	suite race scripts/test.sh $in_process
fi
exit $failed
