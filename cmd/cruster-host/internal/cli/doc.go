// Package cli is the command line of cruster-host. Start reading at root.go.
package cli
