cruster-host dev
cruster-host module push bin/modules/reports.wasm --name reports
cruster-host module push bin/modules/reports.wasm --name jobs
page 1
page 2
