package wasm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/wasm/symbolize"
)

// maxLogMessage bounds one record of cruster.log; the rest is cut off.
const maxLogMessage = 64 << 10

// hostFunction is the body of an import. Parameters are i32 numbers in stack, and so is the result. Only the lower
// halves count: the engine leaves garbage in the upper ones.
type hostFunction func(i *Instance, ctx context.Context, memory api.Memory, stack []uint64)

// exportImports builds the module "cruster", once for all instances.
func exportImports(b wazero.HostModuleBuilder) {
	export := func(name string, params, results int, f hostFunction) {
		types := func(n int) []api.ValueType { return bytes.Repeat([]byte{api.ValueTypeI32}, n) }
		b.NewFunctionBuilder().WithGoModuleFunction(
			api.GoModuleFunc(func(ctx context.Context, mod api.Module, stack []uint64) {
				i := ctx.Value(instanceKey{}).(*Instance)
				if i.phase == phaseInit && name != abi.ImportLog {
					panic(fault(
						abi.CodeGuestProtocol, "the module called %s.%s outside of a turn", abi.ImportModule, name,
					))
				}
				// A guest need not be out of fuel between two calls.
				if ctx.Err() != nil {
					panic(errStopped)
				}
				f(i, ctx, mod.Memory(), stack)
			}),
			types(params),
			types(results),
		).Export(name)
	}
	export(abi.ImportInput, 1, 0, (*Instance).importInput)
	export(abi.ImportOutput, 2, 0, (*Instance).importOutput)
	export(abi.ImportLog, 3, 0, (*Instance).importLog)
	export(abi.ImportCancel, 1, 0, (*Instance).importCancel)
	export(abi.ImportOperation, 1, 1, (*Instance).importOperation)
	for _, kind := range abi.OpKinds {
		export(kind, 2, 1, func(i *Instance, _ context.Context, memory api.Memory, stack []uint64) {
			i.importOp(kind, memory, stack)
		})
	}
	for _, name := range abi.ImmediateCalls {
		export(name, 2, 1, func(i *Instance, ctx context.Context, memory api.Memory, stack []uint64) {
			i.importCall(ctx, name, memory, stack)
		})
	}
}

func (i *Instance) importInput(ctx context.Context, memory api.Memory, stack []uint64) {
	ptr := uint32(stack[0])
	if !i.hasPending {
		panic(fault(abi.CodeGuestProtocol, "the module asked for input, but none is pending"))
	}
	// An empty input writes nothing, so its pointer may be anything.
	if len(i.pending) > 0 && !memory.Write(ptr, i.pending) {
		panic(badPointer(abi.ImportInput, ptr, uint32(len(i.pending)), memory))
	}
	i.pending, i.hasPending = nil, false
	guard(func() { Taken(ctx) })
}

func (i *Instance) importOutput(_ context.Context, memory api.Memory, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	if i.hasOutput {
		panic(fault(abi.CodeGuestProtocol, "the module handed over its output twice in one turn"))
	}
	if size > abi.MaxBody {
		panic(fault(abi.CodePayloadTooLarge, "the module's output has %d bytes, and %d are allowed", size, abi.MaxBody))
	}
	i.output, i.hasOutput = readBody(abi.ImportOutput, memory, ptr, size), true
}

func (i *Instance) importLog(_ context.Context, memory api.Memory, stack []uint64) {
	level, ptr, size := int32(uint32(stack[0])), uint32(stack[1]), uint32(stack[2])
	view, ok := memory.Read(ptr, size)
	if !ok {
		panic(badPointer(abi.ImportLog, ptr, size, memory))
	}
	if i.world.Log != nil {
		message := bytes.Clone(view[:min(len(view), maxLogMessage)])
		guard(func() { i.world.Log(level, message) })
	}
}

func (i *Instance) importCancel(_ context.Context, _ api.Memory, stack []uint64) {
	op := uint32(stack[0])
	if i.world.Cancel != nil {
		guard(func() { i.world.Cancel(op) })
	}
}

func (i *Instance) importOperation(_ context.Context, _ api.Memory, stack []uint64) {
	index := uint32(stack[0])
	if refused := i.refuse(abi.ImportOperation, 0, i.world.Operation == nil); refused != nil {
		stack[0] = i.pendError(refused)
		return
	}
	var anew bool
	var refused *abi.Error
	guard(func() { anew, refused = i.world.Operation(index) })
	if refused != nil {
		stack[0] = i.pendError(refused)
		return
	}
	if anew {
		i.renewFuel()
	}
	stack[0] = 0
}

func (i *Instance) importOp(kind string, memory api.Memory, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	if refused := i.refuse(kind, size, i.world.Op == nil); refused != nil {
		stack[0] = i.pendError(refused)
		return
	}
	body := readBody(kind, memory, ptr, size)
	var op uint32
	var refused *abi.Error
	guard(func() { op, refused = i.world.Op(kind, body) })
	switch {
	case refused != nil:
		stack[0] = i.pendError(refused)
	case op == 0 || op > math.MaxInt32:
		panic(&hostPanic{fmt.Errorf("the host gave an op of kind %s the number %d", kind, op)})
	default:
		stack[0] = uint64(op)
	}
}

func (i *Instance) importCall(ctx context.Context, name string, memory api.Memory, stack []uint64) {
	ptr, size := uint32(stack[0]), uint32(stack[1])
	if refused := i.refuse(name, size, i.world.Call == nil); refused != nil {
		stack[0] = i.pendError(refused)
		return
	}
	body := readBody(name, memory, ptr, size)
	i.stopWatching() // the host may wait for others
	i.leaveCore()
	i.admitStack()
	var reply []byte
	var failed *abi.Error
	bound, cancel := i.module.runtime.bind(ctx)
	defer cancel()
	guard(func() { reply, failed = i.world.Call(bound, name, body) })
	if failed == nil && len(reply) > abi.MaxBody {
		failed = abi.Errorf(
			abi.CodePayloadTooLarge, "the reply to %s has %d bytes, and %d are allowed", name, len(reply), abi.MaxBody,
		)
	}
	if failed != nil {
		stack[0] = i.pendError(failed)
		return
	}
	i.pending, i.hasPending = reply, true
	stack[0] = uint64(len(reply))
}

// refuse checks a call before its body is read.
func (i *Instance) refuse(name string, size uint32, absent bool) *abi.Error {
	switch {
	case absent:
		return abi.Errorf(abi.CodeWrongContext, "%s is not available here", name)
	case size > abi.MaxBody:
		return abi.Errorf(
			abi.CodePayloadTooLarge, "the body of %s has %d bytes, and %d are allowed", name, size, abi.MaxBody,
		)
	}
	return nil
}

// pendError makes an error the pending input and returns -n, n being its length.
func (i *Instance) pendError(e *abi.Error) uint64 {
	body, err := abi.Marshal(e)
	if err != nil || len(body) > abi.MaxBody {
		body = abi.MustMarshal(abi.Errorf(e.Code, "%s", symbolize.OneLine(e.Message, 1<<10)))
	}
	i.pending, i.hasPending = body, true
	return uint64(uint32(-int32(len(body))))
}

// readBody copies a body out of guest memory.
func readBody(name string, memory api.Memory, ptr, size uint32) []byte {
	view, ok := memory.Read(ptr, size)
	if !ok {
		panic(badPointer(name, ptr, size, memory))
	}
	return bytes.Clone(view)
}

func badPointer(name string, ptr, size uint32, memory api.Memory) *guestFault {
	return fault(
		abi.CodeBadPointer, "the module called %s with %d bytes at %#x, outside of its memory of %d bytes", name, size,
		ptr, memory.Size(),
	)
}

// guestFault is the panic value with which a host function ends the guest.
type guestFault struct{ err *abi.Error }

func fault(code abi.Code, format string, args ...any) *guestFault {
	return &guestFault{abi.Errorf(code, format, args...)}
}

// Error implements error, so that the engine keeps the value in its chain.
func (f *guestFault) Error() string { return f.err.Error() }

// errStopped is the panic value of a host function if the turn has to end.
var errStopped = errors.New("the turn is over")

// hostPanic is a failure of the host inside a host function. It has a type of its own so that a bug of the host is
// never blamed on the guest.
type hostPanic struct{ err error }

func (p *hostPanic) Error() string { return p.err.Error() }
func (p *hostPanic) Unwrap() error { return p.err }

// guard runs a function of a World and turns its panic into a hostPanic.
func guard(f func()) {
	defer func() {
		if p := recover(); p != nil {
			panic(&hostPanic{fmt.Errorf("the host panicked: %v", p)})
		}
	}()
	f()
}
