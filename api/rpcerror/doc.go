// Package rpcerror carries *abi.Error through gRPC statuses: the services make statuses of errors, the client makes
// errors of statuses.
//
// It imports abi and the generated contract, so that clients need nothing of the engine. Start reading at Status and
// From, in status.go.
package rpcerror
