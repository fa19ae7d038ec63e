// Package cli drives the real binary the way people do: scripts in testdata run its commands against hosts on free
// ports, and check the output and the exit codes. It imports nothing of Cruster but the starters of
// Postgres and hosts for tests.
package cli
