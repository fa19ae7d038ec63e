// Command messages is the code that the pages on signals and entities show, as a module.
package main

import _ "github.com/cruster/cruster/docs/examples/messages"

func main() {}
