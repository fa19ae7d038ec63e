// Package host is the durable engine: it runs modules, journals what it delivers to
// them, and brings every execution back after a crash.
//
// The package itself is thin. [Engine] wires the rooms below it together, starts and
// stops them, and offers what the API asks for. Each concept has a room of its own;
// docs/architecture.md draws them. Imports point down, also between rooms, and no
// room imports this package:
//
//	execution     the workflow actor: turns, commits, pause, settle, interrupt, children
//	activity      attempts of activities: timeouts, backoff, SQL, HTTP, configuration
//	guest         a deterministic instance of a workflow; key functions
//	catalog       modules, manifests, deployments
//	maintenance   recovery scan, retention
//	residency     which instances stay warm
//	admission     whether the host takes on more
//	actor         serial actors with a box of messages, and their task group
//	watch         who is told that an execution is over
//	timer         the deadline heap
//	replay, op    pure: what a journal means for a guest; what an op is
//	hoststate     starting, accepting, draining, lost
//	faultpoint    the named points at which tests crash a host
//	metric        how metrics are made
//	wasm, egress  the sandbox; outgoing HTTP
//
// Start reading at engine.go, then at the comment of host/execution.
package host
