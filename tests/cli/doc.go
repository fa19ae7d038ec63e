// Package cli drives the real binary the way people do: scripts in testdata run its commands against hosts on free
// ports, and check what they print and the codes they exit with. It imports nothing of Cruster but what starts Postgres
// and hosts for tests.
package cli
