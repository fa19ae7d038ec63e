cp bin/modules/orders.wasm .
echo '{"order_id":"1","email":"ada@example.com","items":[{"sku":"tea","quantity":1,"price_cents":1000}],"cooling_off_ms":1}' >order.json
cruster-host serve --store "$POSTGRES"
PAYMENTS=${PAYMENTS%/charges}
page 1 "s|https://sandbox.example.com|$PAYMENTS/charges|" "s|sandbox.example.com|${PAYMENTS#http://}|" >out
contains out confirmed
CRUSTER_ADDR=$OTHER_GRPC
page 2 "s/127.0.0.1:7700/$OTHER_GRPC/" "s/127.0.0.1:8700/$OTHER_HTTP/"
