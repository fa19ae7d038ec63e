// Package hibernation keeps the state of a workflow's guest for later, so that a guest is made of it instead of by a
// replay of its whole journal. It defines the parts of such a state ([State]), how it is encoded, and when it is worth
// to save one ([Policy]).
//
// # Invariants
//
//  1. A guest that is restored, and then given the entries behind [State.Seq], cannot be
//     told from a replayed one: neither by itself nor by the host.
//  2. A state is a cache. Whatever is wrong with one, the journal is replayed; and a
//     guest that was restored and then does not fit its journal is replayed before
//     anything is made of that.
//
// A state is bound to its origins: the run, the module, and the memory that all instances of the module begin
// with on this host. A host that rewrites modules in another way has other images, finds that a state is not one of its
// own, and replays. So there is no need for states to be portable, nor for versions of their content.
//
// The package reads no store and runs no guest. It imports host/guest, host/op, abi and journal. Start reading at
// state.go.
package hibernation
