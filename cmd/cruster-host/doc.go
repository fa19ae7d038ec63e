// Command cruster-host is the whole of Cruster in one binary: the host itself
// (dev, serve), and the verbs that talk to a host (module, workflow, deferred).
//
// main.go does nothing but call run, which takes everything it touches as
// arguments and returns the exit code; root.go has the flags that all verbs
// share, exit.go what errors look like and which code they end with, and each
// group of verbs has a file of its own. Nothing imports this package.
package main
