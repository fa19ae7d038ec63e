package cruster

import (
	"runtime"
	"unsafe"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// running is the workflow of this instance between two turns. The host uses an instance for one invocation only.
var running *guest.Execution

// deliveries is room for the deliveries of a turn, which seldom has more.
var deliveries [4]abi.Delivery

// The host asks for the version last, before it takes an image of the module.
//
//go:wasmexport cruster_abi
func exportABI() int32 {
	guest.WarmUp()
	return abi.Version
}

//go:wasmexport cruster_describe
func exportDescribe() {
	writeOutput(abi.MustMarshal(guest.Default.Manifest()))
}

//go:wasmexport cruster_start
func exportStart(n uint32) int32 {
	inv, err := guest.DecodeInvocation(readInput(n))
	if err != nil {
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeBadBody, "the invocation does not decode: %v", err)})
	}
	ex, outcome := guest.Default.Start(wasmHost{}, inv, guest.Options{})
	running = ex
	return finish(outcome)
}

//go:wasmexport cruster_resume
func exportResume(n uint32) int32 {
	r, err := guest.DecodeResume(readInput(n), deliveries[:0])
	if err != nil {
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeBadBody, "the deliveries do not decode: %v", err)})
	}
	if running == nil {
		return finish(&abi.Outcome{
			Error: abi.Errorf(abi.CodeGuestProtocol, "cruster_resume was called while no workflow is running"),
		})
	}
	outcome := running.Resume(r)
	clear(deliveries[:])
	return finish(outcome)
}

//go:wasmexport cruster_query
func exportQuery(n uint32) int32 {
	var q abi.Query
	err := abi.Unmarshal(readInput(n), &q)
	switch {
	case err != nil:
		return finish(&abi.Outcome{Error: abi.Errorf(abi.CodeBadBody, "the query does not decode: %v", err)})
	case running == nil:
		return finish(&abi.Outcome{
			Error: abi.Errorf(abi.CodeGuestProtocol, "cruster_query was called while no workflow is running"),
		})
	}
	return finish(running.Query(q))
}

// finish hands over the outcome, if there is one, and returns the status.
func finish(o *abi.Outcome) int32 {
	if o == nil {
		return abi.StatusParked
	}
	running = nil
	writeOutput(guest.EncodeOutcome(o))
	return abi.StatusDone
}

// readInput fetches the pending input of n bytes.
func readInput(n uint32) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	importInput(unsafe.Pointer(unsafe.SliceData(b)))
	runtime.KeepAlive(b)
	return b
}

// writeOutput hands bytes to the host.
func writeOutput(b []byte) {
	importOutput(unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)))
	runtime.KeepAlive(b)
}

// wasmHost calls the host through the imports of the module.
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
	return 0, readError(op.Name, n)
}

func (wasmHost) Do(call *guest.Call, body []byte) ([]byte, *abi.Error) {
	n := invoke(call, body)
	if n >= 0 {
		return readInput(uint32(n)), nil
	}
	return nil, readError(call.Name, n)
}

// readError fetches the error that a result of -n announces.
func readError(name string, n int32) *abi.Error {
	e := new(abi.Error)
	if err := abi.Unmarshal(readInput(uint32(-n)), e); err != nil {
		return abi.Errorf(abi.CodeGuestProtocol, "the host refused %s for a reason that does not decode: %v", name, err)
	}
	return e
}

func (wasmHost) Cancel(op uint32) { importCancel(op) }

func (wasmHost) Log(level int32, text string) {
	importLog(level, unsafe.Pointer(unsafe.StringData(text)), uint32(len(text)))
	runtime.KeepAlive(text)
}
