page 1 "s|/var/lib/cruster|$PWD/data|" 's/seconds=10/seconds=1/'
