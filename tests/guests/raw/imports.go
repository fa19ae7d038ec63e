//go:build wasip1

package main

import (
	"unsafe"

	"github.com/cruster/cruster/abi"
)

//go:wasmimport cruster input
func input(ptr unsafe.Pointer)

//go:wasmimport cruster output
func output(ptr unsafe.Pointer, n uint32)

//go:wasmimport cruster log
func log(level int32, ptr unsafe.Pointer, n uint32)

//go:wasmimport cruster cancel
func cancel(op uint32)

//go:wasmimport cruster sleep
func sleep(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster activity
func activity(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster deferred
func deferred(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster resolve
func resolve(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster call
func call(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster send
func send(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster poll
func poll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster patched
func patched(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster receive
func receive(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster signal
func signal(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster entity_call
func entityCall(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster entity_send
func entitySend(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster interrupted
func interrupted(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster lock
func lock(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster unlock
func unlock(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster update
func update(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster answer
func answer(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster publish
func publish(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster interrupt
func interrupt(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster operation
func operation(index uint32) int32

//go:wasmimport cruster tx_exec
func txExec(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_query
func txQuery(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_rollback
func txRollback(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http
func http(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http_all
func httpAll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster config
func config(ptr unsafe.Pointer, n uint32) int32

var imports = map[string]func(unsafe.Pointer, uint32) int32{
	abi.OpSleep:          sleep,
	abi.OpActivity:       activity,
	abi.OpDeferred:       deferred,
	abi.OpResolve:        resolve,
	abi.OpCall:           call,
	abi.OpSend:           send,
	abi.OpPoll:           poll,
	abi.OpInterrupted:    interrupted,
	abi.OpPatched:        patched,
	abi.OpReceive:        receive,
	abi.OpSignal:         signal,
	abi.OpEntityCall:     entityCall,
	abi.OpEntitySend:     entitySend,
	abi.OpLock:           lock,
	abi.OpUnlock:         unlock,
	abi.OpUpdate:         update,
	abi.OpAnswer:         answer,
	abi.OpPublish:        publish,
	abi.OpInterrupt:      interrupt,
	abi.ImportTxExec:     txExec,
	abi.ImportTxQuery:    txQuery,
	abi.ImportTxRollback: txRollback,
	abi.ImportHTTP:       http,
	abi.ImportHTTPAll:    httpAll,
	abi.ImportConfig:     config,
}

var immediate = map[string]bool{
	abi.ImportTxExec:     true,
	abi.ImportTxQuery:    true,
	abi.ImportTxRollback: true,
	abi.ImportHTTP:       true,
	abi.ImportHTTPAll:    true,
	abi.ImportConfig:     true,
}

// take fetches the pending input of n bytes.
func take(n uint32) []byte {
	if n == 0 {
		return nil
	}
	b := make([]byte, n)
	input(pointer(b))
	return b
}

func put(b []byte) { output(pointer(b), uint32(len(b))) }

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
