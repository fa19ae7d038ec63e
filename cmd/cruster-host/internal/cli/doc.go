// Package cli is the command line of cruster-host: its commands with their flags
// and help, one noun a file, the choice of the output, and the exit codes.
//
// [Run] is the whole program. It touches nothing but what a [Process] holds and
// what the commands name (files, folders, a host), so that tests run it as a
// process would. root.go has the flags that all commands share, environment.go
// how the environment fills them in, exit.go what errors look like and which code
// they end with.
//
// It imports client to talk to hosts, the rooms beside it (serve, scaffold, view,
// terminal, usage), and abi. Start reading at root.go.
package cli
