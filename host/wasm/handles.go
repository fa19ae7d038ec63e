package wasm

import (
	"reflect"
	"sync"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
)

// handles are the exports of a machine that turns call. The engine allots a stack to each, ten kilobytes that grow with
// the depth of the calls and do not shrink. They stay with a machine that rests: made anew for every step, they would
// be half of all that the host allocates.
type handles struct {
	start, resume, query api.Function // nil until they are called
}

// maxKeptStack bounds the stack that an idle machine keeps for an export. A recursion may need a hundred megabytes,
// and the next guest need not pay for it.
const maxKeptStack = 64 << 10

// of finds an export; nil if there is none.
func (h *handles) of(mod api.Module, export string) api.Function {
	handle := &h.start
	switch export {
	case abi.ExportResume:
		handle = &h.resume
	case abi.ExportQuery:
		handle = &h.query
	}
	if *handle == nil {
		*handle = mod.ExportedFunction(export)
	}
	return *handle
}

// dropGrownStacks gives up the stacks that have grown beyond maxKeptStack.
func (h *handles) dropGrownStacks() {
	for _, handle := range []*api.Function{&h.start, &h.resume, &h.query} {
		if *handle != nil && stackOf(*handle) > maxKeptStack {
			*handle = nil
		}
	}
}

// grown is how large the stacks are that are not for every call.
func (h *handles) grown() (bytes int64) {
	for _, handle := range []api.Function{h.start, h.resume, h.query} {
		if handle == nil {
			continue
		}
		if size := stackOf(handle); size > maxKeptStack {
			bytes += int64(size)
		}
	}
	return bytes
}

// admitStack takes memory of the host for a stack that has grown. The engine makes it larger on its
// own, so this is asked afterwards: when the guest is out of fuel, which it is after some thousand
// calls, and before it waits for something. A guest for which there is no memory is stopped, and
// its work is discarded: see starvedLocked. So the unadmitted memory is at most the stacks of the
// guests computing at this moment, one for a processor.
//
// Admitted memory stays with the instance: it may recurse again, or its linear memory grows into
// it.
func (i *Instance) admitStack() {
	grown := i.machine.handles.grown()
	if grown <= i.stackAdmitted {
		return
	}
	if !i.admit(grown - i.stackAdmitted) {
		i.linear.refused = true
		panic(errStopped)
	}
	i.stackAdmitted = grown
}

// unusedStack is memory that was admitted for stacks which are gone.
func (i *Instance) unusedStack() int64 { return max(0, i.stackAdmitted-i.machine.handles.grown()) }

// stackOf is the size of the stack that the engine has allotted to a handle. The engine does not tell, so this looks:
// if there is nothing to be seen, the size could be anything.
func stackOf(f api.Function) int {
	const unknown = maxKeptStack + 1
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return unknown
	}
	index := stackField(v.Elem().Type())
	if index < 0 {
		return unknown
	}
	return v.Elem().Field(index).Cap()
}

// stackFields remembers where the types of the engine have their stack.
var stackFields sync.Map // reflect.Type → int

// stackField is where a type has its stack; negative if it has none.
func stackField(t reflect.Type) int {
	if index, known := stackFields.Load(t); known {
		return index.(int)
	}
	index := -1
	if field, ok := t.FieldByName("stack"); ok && len(field.Index) == 1 && field.Type.Kind() == reflect.Slice {
		index = field.Index[0]
	}
	stackFields.Store(t, index)
	return index
}
