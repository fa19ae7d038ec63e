// Package hoststate is the state of a host: starting, accepting work, draining, and having lost its shards to another
// host. Rooms that do work ask it whether they may begin more, and end when its context does.
//
// It imports abi and nothing else of Cruster.
package hoststate
