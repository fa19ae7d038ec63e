// Package instance runs the code of entities in instances of their modules: operations of an entity with
// a state, all of a batch in one invocation, and calls of an entity without one. It tells the failures of a
// guest from the trouble of its module and of the host (failure.go), and which operation was under way
// when an invocation ended (underway.go).
//
// It imports host/effects, host/guest, host/wasm and host/entity/target, and neither store nor actor.
package instance
