cruster-host dev
cruster-host module push bin/modules/bank.wasm --name bank
cruster-host entity call bank/Account/ada open --input '"ada"' || true
page 1
