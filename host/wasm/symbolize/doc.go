// Package symbolize says where a guest was when it was stopped or crashed, in its author's words:
// functions, files and lines. Modules carry no debug information, so it reads the traces that the
// languages leave behind.
//
//   - [Stop.Where] finds the calls that were under way. A Go program has the table of its functions and lines in its
//     memory, because its own stack traces are made of it: goprogram.go reads the table and the stack, goinlined.go
//     calls that were inlined, gosched.go
//     the goroutine for which the runtime was at work, goplace.go the line of a loop. Of a program in Rust or C the
//     engine's backtrace has symbols: rustnames.go reads them.
//   - [CrashLog] keeps the report that a language's runtime writes to standard error when it dies; report.go reads it.
//
// # Its permissions
//
// All that it reads is the guest's own and may lie. An address outside of memory reads as zero, every loop has a bound,
// and its results are text for people: they are part of errors and logs. No execution goes on otherwise because of
// them, with one exception that ends it all the same: [IsGo] decides how a guest that blocks is ended
// (host/wasm/block.go).
//
// Only host/wasm imports it, for the errors of traps. It knows neither the engine nor abi; of Cruster it imports
// host/wasm/binary, for the place that a check of fuel tells.
//
// Start reading at frames.go.
package symbolize
