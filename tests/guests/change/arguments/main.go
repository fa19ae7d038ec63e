// Command arguments is a version of package change: another argument.
package main

import "github.com/cruster/cruster/tests/guests/change"

// Order is the workflow.
var Order = change.Define(change.Version{Steps: []string{"reserve", "charge"}, Amount: 7})

func main() {}
