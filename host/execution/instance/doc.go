// Package instance has the guests of executions: instances of their workflows, and the memory of those.
//
// [Guests] makes guests as memory is there for them, and lets them compute within the limits of time
// and of guests at once. An [Instance] is the instance of one run while it is warm: a cache, which is
// dropped whenever its memory is wanted, and made again from the journal (host/execution/rebuild).
//
// The package imports largevalue beside it, budget, guest, metric, program, residency and wasm below it,
// journal and abi; never host/execution. Start reading at instance.go.
package instance
