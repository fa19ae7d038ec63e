package wasm

import "context"

// calling is the context of a call into a guest. The engine hands it to the functions that the
// guest calls, and they find the instance in it. It ends with the caller's context and with the
// runtime; only the first can be waited for. A call that waits binds itself to both: see
// [Runtime.bind]. Most calls wait for nothing, and a context that could would cost them more than
// the rest of the call.
type calling struct {
	context.Context
	instance *Instance
}

// instanceKey finds the *Instance in the context that the engine hands from a call of the guest to the functions that
// the guest calls.
type instanceKey struct{}

// Value implements [context.Context].
func (c *calling) Value(key any) any {
	if key == (instanceKey{}) {
		return c.instance
	}
	return c.Context.Value(key)
}

// Err implements [context.Context].
func (c *calling) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return c.instance.module.runtime.life.Err()
}
