cruster-host dev
cruster-host module push bin/modules/orders.wasm --name orders
cruster-host workflow start orders/ProcessOrder \
	--input '{"order_id":"42","email":"ada@example.com","items":[{"sku":"tea","quantity":1,"price_cents":1000}],"cooling_off_ms":3600000}'
cp bin/modules/orders-rust.wasm orders.wasm
page 1
page 2
page 3
