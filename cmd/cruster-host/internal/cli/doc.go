// Package cli is the command line of cruster-host: its commands with their flags and help, one noun a file, the choice
// of the output, and the exit codes.
//
// [Run] is the whole program. It touches only the contents of a [Process] and the targets of the
// commands (files, folders, a host), so that tests run it as a process would. root.go has the flags
// that all commands share, environment.go how the environment fills them in, exit.go the form of
// errors and their exit codes.
//
// It imports client to talk to hosts, the rooms beside it (serve, scaffold, view, terminal, usage), and abi. Start
// reading at root.go.
package cli
