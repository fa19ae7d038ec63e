cruster-host dev
cruster-host module push bin/modules/cart.wasm --name cart
cruster-host workflow start cart/Subscription --input '{"customer":"ada","plan":"small"}'
page 1
page 2
page 3 >out
contains out large
cruster-host module push bin/modules/shop.wasm --name shop
cruster-host workflow start shop/Basket --raw-key ada --input '"ada"'
page 4 >out
contains out 300
