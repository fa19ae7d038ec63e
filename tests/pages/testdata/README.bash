page 1 # targets of make
page 2
page 3 's/30000/300/' >out
contains out confirmed
page 4
page 5 >out
contains out STATE_COMPLETED
