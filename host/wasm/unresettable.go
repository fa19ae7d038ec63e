package wasm

import (
	"context"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// The engine keeps the file descriptors of an instance, and a guest can close and renumber them. A reset does not bring
// them back. So a machine whose guest has called a function of WASI that could change them is marked, and not used
// again.

// dirtyListenerFactory listens to calls of functions that make an instance dirty.
type dirtyListenerFactory struct{}

var _ experimental.FunctionListenerFactory = dirtyListenerFactory{}

// pureImports are the functions that change nothing outside of the guest's memory: standard input is empty, the other
// streams are ours, and flags mean nothing to them.
var pureImports = map[string]bool{
	"args_get":            true,
	"args_sizes_get":      true,
	"clock_res_get":       true,
	"clock_time_get":      true,
	"environ_get":         true,
	"environ_sizes_get":   true,
	"fd_fdstat_get":       true,
	"fd_fdstat_set_flags": true,
	"fd_filestat_get":     true,
	"fd_prestat_dir_name": true,
	"fd_prestat_get":      true,
	"fd_read":             true,
	"fd_write":            true,
	"poll_oneoff":         true,
	"proc_exit":           true,
	"random_get":          true,
	"sched_yield":         true,
}

// NewFunctionListener implements [experimental.FunctionListenerFactory].
func (dirtyListenerFactory) NewFunctionListener(def api.FunctionDefinition) experimental.FunctionListener {
	name, ok := strings.CutPrefix(def.DebugName(), wasi_snapshot_preview1.ModuleName+".")
	switch {
	case name == "poll_oneoff":
		return pollListener{}
	case ok && !pureImports[name]:
		return dirtyListener{}
	}
	return nil
}

// dirtyListener marks the machine of a guest whose call succeeded. A refused call has changed
// nothing.
type dirtyListener struct{}

// Before implements [experimental.FunctionListener].
func (dirtyListener) Before(context.Context, api.Module, api.FunctionDefinition, []uint64, experimental.StackIterator) {
}

// After implements [experimental.FunctionListener].
func (dirtyListener) After(ctx context.Context, _ api.Module, _ api.FunctionDefinition, results []uint64) {
	if len(results) > 0 && uint32(results[0]) != 0 {
		return
	}
	if i, ok := ctx.Value(instanceKey{}).(*Instance); ok && i.machine != nil {
		i.machine.dirty = true
	}
}

// Abort implements [experimental.FunctionListener]. A call that did not return is the end of its instance.
func (dirtyListener) Abort(context.Context, api.Module, api.FunctionDefinition, error) {}
