package cruster

import (
	"runtime"
	"unsafe"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// running is the workflow of this instance between two turns. An instance
// serves one invocation.
var running *guest.Execution

//go:wasmexport cruster_abi
func exportABI() int32 { return abi.Version }

//go:wasmexport cruster_describe
func exportDescribe() {
	give(abi.MustMarshal(guest.Default.Manifest()))
}

//go:wasmexport cruster_start
func exportStart(n uint32) int32 {
	inv, err := guest.DecodeInvocation(take(n))
	if err != nil {
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeBadBody, "the invocation does not decode: %v", err)})
	}
	ex, outcome := guest.Default.Start(wasmHost{}, inv, guest.Options{})
	running = ex
	return finish(outcome)
}

//go:wasmexport cruster_resume
func exportResume(n uint32) int32 {
	r, err := guest.DecodeResume(take(n))
	if err != nil {
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeBadBody, "the deliveries do not decode: %v", err)})
	}
	if running == nil {
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeGuestProtocol, "cruster_resume was called with no workflow under way")})
	}
	return finish(running.Resume(r))
}

// finish hands the outcome over, if there is one.
func finish(o *abi.Outcome) int32 {
	if o == nil {
		return abi.StatusParked
	}
	running = nil
	give(guest.EncodeOutcome(o))
	return abi.StatusDone
}

// take fetches the pending input of n bytes.
func take(n uint32) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	importInput(unsafe.Pointer(unsafe.SliceData(b)))
	runtime.KeepAlive(b)
	return b
}

// give hands bytes to the host.
func give(b []byte) {
	importOutput(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	runtime.KeepAlive(b)
}

// wasmHost is the host behind the imports of the module.
type wasmHost struct{}

var _ guest.Host = wasmHost{}

// invoke passes a body to an import.
func invoke(c *guest.Call, body []byte) int32 {
	n := c.Import(unsafe.Pointer(unsafe.SliceData(body)), uint32(len(body)))
	runtime.KeepAlive(body)
	return n
}

func (wasmHost) Issue(op *guest.Call, body []byte) (uint32, *abi.Error) {
	n := invoke(op, body)
	if n > 0 {
		return uint32(n), nil
	}
	return 0, takeError(op.Name, n)
}

func (wasmHost) Do(call *guest.Call, body []byte) ([]byte, *abi.Error) {
	n := invoke(call, body)
	if n >= 0 {
		return take(uint32(n)), nil
	}
	return nil, takeError(call.Name, n)
}

// takeError fetches the error that a result of -n announces.
func takeError(name string, n int32) *abi.Error {
	e := new(abi.Error)
	if err := abi.Unmarshal(take(uint32(-n)), e); err != nil {
		return abi.Errorf(abi.CodeGuestProtocol, "the host refused %s for a reason that does not decode: %v", name, err)
	}
	return e
}

func (wasmHost) Cancel(op uint32) { importCancel(op) }

func (wasmHost) Log(level int32, text string) {
	importLog(level, unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
	runtime.KeepAlive(text)
}
