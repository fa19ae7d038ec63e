// Command tour is the code that pages show, as a module.
package main

import _ "github.com/cruster/cruster/docs/examples"

func main() {}
