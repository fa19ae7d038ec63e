// Package host is the durable engine: it runs modules, journals its deliveries to them, and brings
// every execution back after a crash.
//
// The package itself is thin. [Engine] wires the rooms below it together, starts and stops them,
// and offers the operations of the API. Each concept has a room of its own: docs/architecture.md
// lists and draws them. Imports point down, also between rooms, and no room imports this package.
//
// Start reading at engine.go, then at the comment of host/execution.
package host
