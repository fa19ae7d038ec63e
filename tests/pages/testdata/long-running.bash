cruster-host dev
cruster-host module push bin/modules/billing.wasm --name billing
cruster-host workflow start billing/Billing --input '{"customer":"ada","cents":500,"period_ms":3600000}'
page 1
! cruster-host workflow wait billing/Billing/ada 2>out || exit 1
contains out 'its journal is too long'
