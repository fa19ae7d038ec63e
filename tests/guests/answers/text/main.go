// Command text is the version whose rooms have names.
package main

import (
	"fmt"

	"github.com/cruster/cruster/tests/guests/answers"
)

var _ = answers.Declare(func(number int64) string { return fmt.Sprint("no. ", number) })

func main() {}
