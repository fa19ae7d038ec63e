page 1 's/git clone .* && cd cruster/:/'
page 2
page 3 >out
contains out '"order_id"'
page 4 's/60000/300/' >out
contains out orders/ProcessOrder/43
kill_host
cruster-host dev
page 5
page 6 >out
contains out approved
page 7
cd ..
page 8
page 9 # builds and deploys the project
deployed() { command cruster-host module list >list && grep -q '^greetings ' list; }
until deployed; do :; done
cd cruster
page 10
program go 1 main.go
page 11 >out
contains out 'Hello, Ada!'
page 12 "s|postgres://user:password@localhost:5432/cruster|'$POSTGRES'|"
