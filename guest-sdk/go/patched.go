package cruster

import "github.com/cruster/cruster/guest-sdk/go/internal/guest"

// Patched tells whether this run takes a change of the code, so that runs that are under way can be moved to the new
// module:
//
//	if cruster.Patched(ctx, "fraud-check") {
//		err = checkFraud.Call(ctx, order)
//	}
//
// It is true for runs that come here for the first time: new ones, and moved runs that were not this far. It is false
// for runs that had passed this point before the code asked: they go on as they began. The answer for an id stays the
// same for the rest of the run.
//
// Steps that were inserted, moved or removed before they ran need no Patched: a run finds its steps
// by their kind and content. Use it where the same steps mean something else, or must run in
// another order than they did.
//
// It panics if the id is not a valid name.
func Patched(ctx Context, id string) bool {
	guest.CheckName("patch", id)
	patch := Future[bool]{p: ctx.scope.Patch(&opPatched, id)}
	patched, err := patch.Await(Shield(ctx))
	if err != nil {
		panic(err) // the host refuses an op only if the workflow issues far too many
	}
	return patched
}
