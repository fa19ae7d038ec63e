package wasm

import (
	"reflect"

	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
)

// handles are the exports of a machine that turns call. The engine allots a stack to each,
// ten kilobytes that grow with the depth of the calls and do not shrink. They stay with a
// machine that rests: made anew for every step, they would be half of all that the host
// allocates.
type handles struct {
	start, resume api.Function // nil until they are called
}

// maxKeptStack bounds the stack that a machine at rest keeps for an export. A recursion may
// need a hundred megabytes, and the next guest need not pay for it.
const maxKeptStack = 64 << 10

// of finds an export.
func (h *handles) of(mod api.Module, export string) api.Function {
	handle := &h.start
	if export == abi.ExportResume {
		handle = &h.resume
	}
	if *handle == nil {
		*handle = mod.ExportedFunction(export)
	}
	return *handle
}

// rest lets go of stacks that have grown.
func (h *handles) rest() {
	for _, handle := range []*api.Function{&h.start, &h.resume} {
		if *handle != nil && stackOf(*handle) > maxKeptStack {
			*handle = nil
		}
	}
}

// stackOf is the size of the stack that the engine has allotted to a handle. The engine does
// not tell, so this looks: if there is nothing to be seen, the size could be anything.
func stackOf(f api.Function) int {
	const unknown = maxKeptStack + 1
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return unknown
	}
	stack := v.Elem().FieldByName("stack")
	if !stack.IsValid() || stack.Kind() != reflect.Slice {
		return unknown
	}
	return stack.Cap()
}
