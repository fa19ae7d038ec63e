cruster-host dev
cruster-host module push bin/modules/reports.wasm --name reports
cruster-host workflow execute reports/Daily --raw-key 2026-03-01 --input '{}'
run=$(command cruster-host workflow describe reports/Daily/2026-03-01 -o json | sed -n 's/.*"run_id": *"\([0-9a-f]*\)".*/\1/p' | head -1)
page 1 "s/RUN_ID/$run/" >out
contains out count
