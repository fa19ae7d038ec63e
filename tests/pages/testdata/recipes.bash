cp bin/modules/orders.wasm .
echo '{"order_id":"1","email":"ada@example.com","items":[{"sku":"tea","quantity":1,"price_cents":1000}],"cooling_off_ms":1}' >order.json
PAYMENTS=${PAYMENTS%/charges}
for store in "$POSTGRES" sqlite:./store; do
	cruster-host serve --store "$store"
	page 1 "s|https://sandbox.example.com|$PAYMENTS/charges|" "s|sandbox.example.com|${PAYMENTS#http://}|" >out
	contains out confirmed
	if cruster-host module push orders.wasm --name orders-staging 2>out; then exit 1; fi
	contains out CR-1012
	contains out 'deployment "orders" has applied the same migration'
done
