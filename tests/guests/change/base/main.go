// Command base is a version of package change: the first version.
package main

import "github.com/cruster/cruster/tests/guests/change"

// Order is the workflow.
var Order = change.Define(change.Version{Steps: []string{"reserve", "charge"}, Amount: 5})

func main() {}
