// Command cruster-host is the whole of Cruster in one binary: the host itself (dev, serve), and the verbs that talk to
// a host (module, workflow, deferred).
//
// main.go hands the process's arguments, streams and environment to package cli, which returns the exit code. The rooms
// below internal:
//
//	cli        the commands: flags, calls, choice of the output, exit codes
//	serve      runs a host: store, engine and the two servers
//	scaffold   `new`: the project of a new module
//	view       the output of the commands: JSON shapes and their text for people
//	terminal   tables, aligned lines, words of a shell
//	usage      mistakes on the command line
//
// Imports point down: cli → {serve, scaffold, view} → {terminal, usage}. Nothing imports this package.
package main
