// Package rebuild brings the instance of a run to where its journal ends.
//
// A [Rebuilder] replays the journal into a fresh guest ([Play], with the rules of host/replay). If the
// journal is long it begins with the saved state of a guest instead, if there is one of use. [States]
// saves those, and has what all replays of a host share. [Pages] reads a journal page by page, and pays
// for large pages.
//
// The package imports instance, sharedledger, ledger and largevalue beside it, actor, budget, faultpoint,
// guest, hibernation, hoststate, metric, op, replay and wasm below it, journal and abi; never
// host/execution. Start reading at rebuilder.go.
package rebuild
