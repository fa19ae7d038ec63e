// Command reordered is a version of package change: the steps in another order.
package main

import "github.com/cruster/cruster/tests/guests/change"

// Order is the workflow.
var Order = change.Define(change.Version{Steps: []string{"charge", "reserve"}, Amount: 5})

func main() {}
