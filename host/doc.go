// Package host is the durable engine: it runs modules, journals its deliveries to them, and brings
// every execution back after a crash.
//
// The package itself is thin. [Engine] wires the rooms below it together, starts and stops them,
// and hands out the rooms that the API calls: [Engine.Launcher] starts executions, [Engine.Observer]
// reads them, [Engine.Executions], [Engine.Entities] and [Engine.Schedules] pass requests on. Each
// concept has a room of its own: docs/architecture.md lists and draws them. Imports point down,
// also between rooms, and no room imports this package.
//
// Start reading at engine.go and wire.go, then at the comment of host/execution.
package host
