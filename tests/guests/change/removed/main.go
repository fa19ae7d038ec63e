// Command removed is a version of package change: a step less.
package main

import "github.com/cruster/cruster/tests/guests/change"

// Order is the workflow.
var Order = change.Define(change.Version{Steps: []string{"reserve"}})

func main() {}
