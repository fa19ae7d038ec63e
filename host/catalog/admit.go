package catalog

import (
	"context"
	"time"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm"
	"github.com/cruster/cruster/journal"
)

// admitTimeout is how long a compilation waits for memory. It waits for no caller's context, since several may wait for
// it.
const admitTimeout = time.Minute

// accept refuses an upload that this host does not take, or could never compile.
func (c *Catalog) accept(binary []byte) error {
	if err := c.runtime.Accept(binary); err != nil {
		return err
	}
	if cost := wasm.CompileCost(binary); c.Memory != nil && cost > c.Memory.Total() {
		return abi.Errorf(
			abi.CodeModuleTooLarge, "to compile the module takes about %d MiB of memory, and the host has %d MiB",
			cost>>20, c.Memory.Total()>>20,
		).
			WithHint("Leave debug information out (Go: -ldflags='-s -w', Rust: strip = true), or start the host with " +
				"a larger --memory.")
	}
	return nil
}

// admit waits for the memory that a compilation takes. The caller holds nothing that others wait for. A module that was
// accepted once is compiled on a host with less memory, too: it takes all there is.
func (c *Catalog) admit(ctx context.Context, binary []byte) (release func(), err error) {
	if c.Memory == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, admitTimeout)
	defer cancel()
	permit, err := c.Memory.Acquire(ctx, min(wasm.CompileCost(binary), c.Memory.Total()))
	if err != nil {
		if ctx.Err() != nil {
			return nil, abi.Errorf(abi.CodeOverloaded, "the host has no memory left to compile a module")
		}
		return nil, journal.Coded("compile the module", err)
	}
	return permit.Release, nil
}
