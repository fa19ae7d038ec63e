// Command inserted is a version of package change: a step more.
package main

import "github.com/cruster/cruster/tests/guests/change"

// Order is the workflow.
var Order = change.Define(change.Version{Steps: []string{"reserve", "audit", "charge"}, Amount: 5})

func main() {}
