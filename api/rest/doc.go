// Package rest is the room of the contract cruster.v1 over HTTP and JSON. There is no code here
// yet.
//
// It is a face beside api/grpcserver: it decodes, asks the same small parts of an engine, and encodes. It
// may import the generated contract, api/auth, api/convert, api/payload, api/rpcerror, host and journal for their
// types, and abi; no other face.
package rest
