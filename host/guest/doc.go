// Package guest runs code of a module in a deterministic world. A [Guest] is the live instance of a workflow:
// everything it can observe is a function of its execution's id and journal. A key function ([KeyDeriver]) runs in a
// world that is the same for everyone.
//
// A guest only collects the requests of its code; the fate of the ops is decided in host/execution.
// The package imports host/wasm, host/op, host/metric, journal and abi. Start reading at guest.go.
package guest
