#!/usr/bin/env bash
# The promise of Cruster, acted out: an order is under way, its host is killed
# with -9, a new host takes over, and the order finishes as if nothing had
# happened. Then a bug is deployed, stops an order that is already paid, and the
# fixed module takes that order to its end. Every claim is checked; the script fails
# if one does not hold.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say()  { printf '\n\033[1m%s\033[0m\n' "$*"; }
seen() { printf '  \033[32m✓\033[0m %s\n' "$*"; }
die()  {
	printf '  \033[31m✗ %s\033[0m\n' "$*" >&2
	[[ -s $work/host.log ]] && { echo "  the end of the host's log:" >&2; tail -n 20 "$work/host.log" >&2; }
	exit 1
}

work=$(mktemp -d "${TMPDIR:-/tmp}/cruster-demo.XXXXXX")
host_pid=
go_build=
cleanup() {
	if [[ -n $go_build ]]; then kill "$go_build" 2>/dev/null || true; fi
	if [[ -n $host_pid ]]; then kill -9 "$host_pid" 2>/dev/null || true; fi
	rm -rf "$work"
}
trap cleanup EXIT

# until_true SECONDS WHAT COMMAND…: asks again until COMMAND succeeds.
until_true() {
	local deadline=$((SECONDS + $1)) what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS < deadline)) || die "$what did not happen in time"
		if [[ -n $host_pid ]] && ! kill -0 "$host_pid" 2>/dev/null; then die "the host ended by itself"; fi
		sleep 0.1
	done
}

free_port() {
	local port
	while :; do
		port=$((20000 + RANDOM % 30000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
	done
}

cruster() { bin/cruster-host "$@"; }

start_host() {
	bin/cruster-host serve --store "sqlite:$work/data" --grpc-addr "$CRUSTER_ADDR" --http-addr "127.0.0.1:$http_port" >>"$work/host.log" 2>&1 &
	host_pid=$!
	disown "$host_pid"
	until_true 60 "the start of the host" cruster module list
}

say "1. Build the host and the examples"
# The parts in Go are built while the compiler of Rust is installed.
make --no-print-directory build-go >"$work/build-go.log" 2>&1 &
go_build=$!
scripts/install.sh rust
make --no-print-directory build-rust >"$work/build.log" 2>&1 || { cat "$work/build.log" >&2; exit 1; }
wait "$go_build" || { cat "$work/build-go.log" >&2; exit 1; }
go_build=
seen "bin/cruster-host and $(ls bin/modules/*.wasm | wc -l) modules"

say "2. Start a host on its embedded store, and push the examples"
export CRUSTER_ADDR=127.0.0.1:$(free_port)
http_port=$(free_port)
start_host
seen "host $host_pid serves gRPC on $CRUSTER_ADDR"
# Twins in two languages have the same tables, so a host takes one of them: here
# that in Go, but for the fan-out.
for name in approval orders saga transfer; do
	cruster module push "bin/modules/$name.wasm" --name "$name" >/dev/null
done
cruster module push bin/modules/fanout-rust.wasm --name fanout >/dev/null
seen "deployed: approval, orders, saga and transfer in Go, fanout in Rust"

say "3. Start an order; its first attempt to charge fails, and it has to wait 5 seconds"
order='{"order_id":"42","email":"ada@example.com","items":[{"sku":"apple","quantity":2,"price_cents":150},{"sku":"pear","quantity":1,"price_cents":120}],"cooling_off_ms":5000,"fail_charges":1}'
cruster workflow start orders/ProcessOrder --input "$order" >/dev/null
sleeping() { cruster workflow describe orders/ProcessOrder/42 -o json | grep -Eq '"kind": *"sleep"'; }
until_true 60 "the order's durable sleep" sleeping
seen "reserved and charged; the order is in its durable sleep"

say "4. kill -9"
kill -9 "$host_pid"
while kill -0 "$host_pid" 2>/dev/null; do :; done
seen "host $host_pid is gone, without a chance to say goodbye"
killed=$host_pid host_pid=
if cruster module list >/dev/null 2>&1; then die "something still answers on $CRUSTER_ADDR"; fi
seen "nothing answers on $CRUSTER_ADDR"

say "5. Start another host on the same data, and wait for the order"
start_host
[[ $host_pid != "$killed" ]] || die "the process is the same"
seen "host $host_pid has taken over"
result=$(cruster workflow wait orders/ProcessOrder/42 --timeout 60s -o json) || die "the order did not finish"
echo "$result" | grep -Eq '"status": *\\?"confirmed' || die "the order is not confirmed: $result"
seen "the order is confirmed:"
printf '%s\n' "$result" | sed 's/^/      /'

say "6. Send the same order again"
again=$(cruster workflow execute orders/ProcessOrder --input "$order" -o json)
[[ -n $(echo "$again" | grep -Eo 'ch_[0-9a-f]+-[0-9a-f]+') && $(echo "$again" | grep -Eo 'ch_[0-9a-f]+-[0-9a-f]+' | sort -u) == $(echo "$result" | grep -Eo 'ch_[0-9a-f]+-[0-9a-f]+' | sort -u) ]] || die "another order was made: $again"
seen "the same result, the same charge: starts are idempotent"

say "7. Run a workflow in Rust, 100 steps at once, on the same host"
fanout=$(cruster workflow execute fanout/FanOut --input '{"run":"demo"}' -o json) || die "the workflow in Rust failed"
echo "$fanout" | grep -Eq '"sum": *338350' || die "the sum is another: $fanout"
seen "the squares of 1 to 100 add up to 338350"

say "8. Deploy a bug: the order's last message names a third item, whether there is one or not"
# The workflow as it is, with one line changed.
mkdir "$work/buggy"
sed 's|"Your order %s over %d\.%02d is confirmed\.", req\.OrderID,|"Your order %s with %s over %d.%02d is confirmed.", req.OrderID, req.Items[2].SKU,|' \
	modules/examples/orders/main.go >"$work/buggy/main.go"
if cmp -s modules/examples/orders/main.go "$work/buggy/main.go"; then die "the bug was not made: main.go has another line"; fi
printf '{"Replace": {"%s": "%s"}}\n' "$PWD/modules/examples/orders/main.go" "$work/buggy/main.go" >"$work/buggy/overlay.json"
GOOS=wasip1 GOARCH=wasm CGO_ENABLED=0 go build -overlay "$work/buggy/overlay.json" -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' \
	-o "$work/buggy/orders.wasm" ./modules/examples/orders
cruster module push "$work/buggy/orders.wasm" --name orders >/dev/null
second=${order/'"42"'/'"43"'}
second=${second/5000/100}
code=0
cruster workflow execute orders/ProcessOrder --input "$second" --timeout 60s 2>"$work/paused.log" || code=$?
[[ $code == 5 ]] || die "the order with the bug ended with exit code $code, not 5 (paused): $(cat "$work/paused.log")"
seen "order 43 is paid for, crashes each time it comes to the message, and is paused:"
sed 's/^/      /' "$work/paused.log"

say "9. Fix the bug, check, push, move: the order finishes"
cruster module check bin/modules/orders.wasm --name orders | sed 's/^/      /' || die "the fixed module does not fit"
seen "the fixed module fits what the order has done"
cruster module push bin/modules/orders.wasm --name orders >/dev/null
cruster workflow move orders/ProcessOrder/43 --to latest >/dev/null || die "the order was not moved"
rescued=$(cruster workflow wait orders/ProcessOrder/43 --timeout 60s -o json) || die "the order did not finish on the fixed module"
echo "$rescued" | grep -Eq '"status": *\\?"confirmed' || die "the order is not confirmed: $rescued"
seen "order 43 went on with the fixed module and is confirmed"

say "10. Look into the journal and, with the host stopped, into the database file"
cruster workflow history orders/ProcessOrder/43 | sed 's/^/      /'
kill -TERM "$host_pid"
deadline=$((SECONDS + 30))
while kill -0 "$host_pid" 2>/dev/null; do ((SECONDS < deadline)) || die "the host does not stop"; sleep 0.1; done
host_pid=
seen "the host stopped when asked to"
effects=$(CGO_ENABLED=0 go run -trimpath ./scripts/rows "$work/data" order_effects step)
want=$'charge 2\nconfirm 2\nreserve 2\nsend 2'
[[ $effects == "$want" ]] || die "the steps of the two orders took effect like this, not once an order: ${effects//$'\n'/, }"
seen "SQL effects of the two orders, counted: ${effects//$'\n'/, }"

say "What you saw"
cat <<'TEXT'
  A workflow in WebAssembly was killed with its host in the middle of a sleep, and went on in another
  process: nothing ran twice, nothing was lost, and nothing in its code knows about it. Another met a
  bug in the middle of its work, and went on with the fixed code from where it was.
  That code: modules/examples/orders/main.go. Why it works: docs/GUARANTEES.md.
  How to change code that runs: docs/changing-workflows.md.
TEXT
