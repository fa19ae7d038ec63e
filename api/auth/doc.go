// Package auth is the room of tokens and policies: the identity of callers and their rights. There
// is no code here yet.
//
// The faces (api/grpcserver, api/rest) ask it in their interceptors, and internal/serve of the command wires
// it. It may import the contract, for its names of methods, abi and api/rpcerror: it knows neither an
// engine nor a store.
package auth
