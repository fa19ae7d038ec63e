// Package convert stands between the messages of the contract and the values of the engine. It
// checks and decodes requests, and encodes the engine's answers. Every face of a host says the same
// with it.
//
// All functions are pure: they hold no state and call no engine. The package imports host and journal for their types,
// abi, and the packages of the contract beside it (api/cruster/v1, api/payload, api/rpcerror).
//
// Start reading at payload.go, then execution.go.
package convert
