cruster-host dev
cruster-host module push bin/modules/shop.wasm --name shop
cruster-host workflow start shop/Basket --raw-key ada --input '"ada"'
cruster-host workflow update shop/Basket/ada add_item --input '{"id":"tea","cents":300}' # it has begun
page 1 >out
contains out open
contains out shop/Basket/ada
