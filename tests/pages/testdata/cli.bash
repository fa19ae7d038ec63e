cp bin/modules/orders.wasm .
echo '{"order_id":"1","email":"ada@example.com","items":[{"sku":"tea","quantity":1,"price_cents":1000}],"cooling_off_ms":1}' >o.json
page 1
page 2 >out
contains out STATE_COMPLETED
