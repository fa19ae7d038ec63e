// Command number is the version whose rooms have numbers.
package main

import "github.com/cruster/cruster/tests/guests/answers"

var _ = answers.Declare(func(number int64) int64 { return number })

func main() {}
