page 1 "s|/var/lib/cruster|$PWD/data|" "s|postgres://cruster@db.internal/cruster|'$POSTGRES'|"
cruster-host serve --store "sqlite:$PWD/data"
cruster-host module push bin/modules/buggy.wasm --name change
for key in failed moved resumed; do # they are paused by a bug
	cruster-host workflow start change/Order --raw-key "$key" --input "\"$key\""
	cruster-host deferred resolve "change/Order/$key" gate --input true
	! cruster-host workflow wait "change/Order/$key" || exit 1
done
cruster-host module push bin/modules/base.wasm --name change
page 2 '/describe/s|EXECUTION|change/Order/failed|' '/move/s|EXECUTION|change/Order/moved|' \
	'/resume/s|EXECUTION|change/Order/resumed|' '/fail/s|EXECUTION|change/Order/failed|' 's|…|hopeless|' >out
contains out 'failed for good'
page 3 "s|/var/lib/cruster|$PWD/data|" "s|/backup/|$PWD/|"
[[ -s cruster.db ]]
DATABASE=$POSTGRES
page 4
[[ -s cruster.dump && -s roles.sql ]]
