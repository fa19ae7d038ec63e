package cruster

import (
	"unsafe"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Only the SDK functions that need a variable refer to it, so a module imports only the host functions that it uses.
var (
	opSleep       = guest.Call{Name: abi.OpSleep, Import: importSleep}
	opActivity    = guest.Call{Name: abi.OpActivity, Import: importActivity}
	opDeferred    = guest.Call{Name: abi.OpDeferred, Import: importDeferred}
	opResolve     = guest.Call{Name: abi.OpResolve, Import: importResolve}
	opCall        = guest.Call{Name: abi.OpCall, Import: importCall}
	opSend        = guest.Call{Name: abi.OpSend, Import: importSend}
	opPoll        = guest.Call{Name: abi.OpPoll, Import: importPoll}
	opInterrupted = guest.Call{Name: abi.OpInterrupted, Import: importInterrupted}
	opPatched     = guest.Call{Name: abi.OpPatched, Import: importPatched}
	opReceive     = guest.Call{Name: abi.OpReceive, Import: importReceive}
	opSignal      = guest.Call{Name: abi.OpSignal, Import: importSignal}
	opEntityCall  = guest.Call{Name: abi.OpEntityCall, Import: importEntityCall}
	opEntitySend  = guest.Call{Name: abi.OpEntitySend, Import: importEntitySend}
	opLock        = guest.Call{Name: abi.OpLock, Import: importLock}
	opUnlock      = guest.Call{Name: abi.OpUnlock, Import: importUnlock}
	opUpdate      = guest.Call{Name: abi.OpUpdate, Import: importUpdate}
	opAnswer      = guest.Call{Name: abi.OpAnswer, Import: importAnswer}
	opPublish     = guest.Call{Name: abi.OpPublish, Import: importPublish}
	opInterrupt   = guest.Call{Name: abi.OpInterrupt, Import: importInterrupt}

	callTxExec     = guest.Call{Name: abi.ImportTxExec, Import: importTxExec}
	callTxQuery    = guest.Call{Name: abi.ImportTxQuery, Import: importTxQuery}
	callTxRollback = guest.Call{Name: abi.ImportTxRollback, Import: importTxRollback}
	callHTTP       = guest.Call{Name: abi.ImportHTTP, Import: importHTTP}
	callHTTPAll    = guest.Call{Name: abi.ImportHTTPAll, Import: importHTTPAll}
	callConfig     = guest.Call{Name: abi.ImportConfig, Import: importConfig}
)

//go:wasmimport cruster input
func importInput(ptr unsafe.Pointer)

//go:wasmimport cruster output
func importOutput(ptr unsafe.Pointer, n uint32)

//go:wasmimport cruster log
func importLog(level int32, ptr unsafe.Pointer, n uint32)

//go:wasmimport cruster cancel
func importCancel(op uint32)

//go:wasmimport cruster operation
func importOperation(index uint32) int32

// beginOperation tells the host which operation of an entity with a state begins. It refuses no
// number that the SDK has.
func beginOperation(index uint32) { importOperation(index) }

//go:wasmimport cruster sleep
func importSleep(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster activity
func importActivity(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster deferred
func importDeferred(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster resolve
func importResolve(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster call
func importCall(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster send
func importSend(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster poll
func importPoll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster interrupted
func importInterrupted(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster patched
func importPatched(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster receive
func importReceive(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster signal
func importSignal(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster entity_call
func importEntityCall(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster entity_send
func importEntitySend(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster lock
func importLock(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster unlock
func importUnlock(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster update
func importUpdate(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster answer
func importAnswer(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster publish
func importPublish(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster interrupt
func importInterrupt(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_exec
func importTxExec(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_query
func importTxQuery(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster tx_rollback
func importTxRollback(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http
func importHTTP(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster http_all
func importHTTPAll(ptr unsafe.Pointer, n uint32) int32

//go:wasmimport cruster config
func importConfig(ptr unsafe.Pointer, n uint32) int32
