#!/usr/bin/env bash
# A Postgres server for tests and benchmarks, as a user of its own.
#
#   scripts/postgres.sh check          print the folder of the server's binaries; fails if there are none
#   scripts/postgres.sh run DIR CMD…   run a command with CRUSTER_TEST_POSTGRES set, and stop the server behind it
#   scripts/postgres.sh start DIR [PID]  start a server on DIR; with PID it ends when that process does
#   scripts/postgres.sh stop DIR       stop it
#   scripts/postgres.sh dsn DIR        print its connection string
#
# DIR keeps the data between runs; remove it to begin anew. The server listens on
# a Unix socket only, in a short folder of its own below the temporary one: the
# path of a socket has at most 107 bytes.
#
# fsync is on, as in production, unless CRUSTER_POSTGRES_FSYNC=off: that is for tests, which end hosts and servers but
# never cut the power. Each schema has some forty files, and with hundreds of schemas a checkpoint takes minutes on a slow disk.
set -euo pipefail

fail() { echo "postgres.sh: $*" >&2; exit 1; }

usage() { sed -n '4,8s/^# *//p' "$0" >&2; exit 2; }

# bin prints the folder with the server's binaries.
bin() {
  local path
  if path=$(command -v postgres) && [ -x "$(dirname "$(readlink -f "$path")")/initdb" ]; then
    dirname "$(readlink -f "$path")"
    return
  fi
  # The newest installed version.
  path=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
  [ -n "$path" ] && [ -x "$path/initdb" ] || return 1
  echo "$path"
}

need_bin() { bin || fail "no Postgres binaries on this machine; install them with: scripts/install.sh postgres"; }

# as_server runs a command as the user that the server runs as: never root.
as_server() {
  if [ "$(id -u)" -eq 0 ]; then
    setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"
  else
    "$@"
  fi
}

# socket_dir is derived from DIR, so that every call finds the same.
socket_dir() { echo "${TMPDIR:-/tmp}/cruster-pg-$(readlink -m "$1" | sha256sum | cut -c1-12)"; }

running() { as_server "$(need_bin)/pg_ctl" -D "$1/data" status >/dev/null 2>&1; }

start() {
  local dir pid=${2:-} sockets bindir
  bindir=$(need_bin)
  mkdir -p "$1"
  dir=$(readlink -f "$1")
  sockets=$(socket_dir "$dir")
  mkdir -p "$sockets"
  chmod 700 "$sockets"
  if [ "$(id -u)" -eq 0 ]; then chown postgres:postgres "$dir" "$sockets"; fi
  if [ ! -s "$dir/data/PG_VERSION" ]; then
    (cd "$dir" && as_server "$bindir/initdb" -D "$dir/data" -U postgres -A trust -E UTF8 --locale=C --no-sync --no-instructions >/dev/null)
  fi
  if ! running "$dir"; then
    (cd "$dir" && as_server "$bindir/pg_ctl" -D "$dir/data" -w -t 600 -l "$dir/log" -o \
      "-k $sockets -c listen_addresses= -c max_connections=400 -c fsync=${CRUSTER_POSTGRES_FSYNC:-on} -c max_locks_per_transaction=256" start >/dev/null) ||
      { tail -20 "$dir/log" >&2; fail "the server did not start"; }
  fi
  if [ -n "$pid" ]; then
    # A process that outlives us ends the server when its user ends, and ends
    # with the server.
    setsid --fork bash -c 'while kill -0 "$1" && kill -0 "$2"; do sleep 1; done; kill -INT "$2"' \
      watch "$pid" "$(head -1 "$dir/data/postmaster.pid")" </dev/null >/dev/null 2>&1
  fi
}

stop() {
  local dir
  dir=$(readlink -m "$1")
  if running "$dir"; then (cd "$dir" && as_server "$(need_bin)/pg_ctl" -D "$dir/data" -m fast -w -t 600 stop >/dev/null); fi
  rm -rf "$(socket_dir "$dir")"
}

dsn() { echo "postgres://postgres@/postgres?host=$(socket_dir "$1")"; }

run() {
  local dir=$1 status=0
  shift
  trap 'stop "$dir"' EXIT
  start "$dir" $$
  CRUSTER_TEST_POSTGRES=$(dsn "$dir") "$@" || status=$?
  exit "$status"
}

case "${1:-}" in
  check) need_bin ;;
  start) [ $# -ge 2 ] || usage; start "$2" "${3:-}" ;;
  stop) [ $# -eq 2 ] || usage; stop "$2" ;;
  dsn) [ $# -eq 2 ] || usage; dsn "$2" ;;
  run) [ $# -ge 3 ] || usage; shift; run "$@" ;;
  *) usage ;;
esac
