cruster-host dev
elsewhere 1 TestRustProject
cruster-host module push bin/modules/approval.wasm --name approval
cruster-host workflow start approval/RequestApproval --input '{"document":"budget"}'
page 2
