cruster-host dev
for name in orders cart approval; do cruster-host module push "bin/modules/$name.wasm" --name "$name"; done
mkdir ../caller && cd ../caller
go mod init example.com/caller
cp "$ROOT/docs/examples/clients/orders/main.go" .
cp ../cruster/go.sum . # what is downloaded for the host is checked already
page 1
go run . >out
contains out 'started orders/ProcessOrder/42'
