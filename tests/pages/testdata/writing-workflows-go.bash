cruster-host dev
mkdir ../orders && cd ../orders
go mod init example.com/orders
go mod edit -require github.com/cruster/cruster/guest-sdk/go@v0.1.0
go mod edit -replace github.com/cruster/cruster/guest-sdk/go=../cruster/guest-sdk/go -replace github.com/cruster/cruster/abi=../cruster/abi
program go 1 main.go
go mod tidy
page 1 >out
contains out orders/ProcessOrder/42
cruster-host module push ../cruster/bin/modules/approval.wasm --name approval
cruster-host workflow start approval/RequestApproval --input '{"document":"budget"}'
page 2
