cruster-host dev
cruster-host module push bin/modules/bank.wasm --name bank
page 1
