//go:build !wasip1

package cruster

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Outside a module there are no imports: the host of a test tells the calls apart by name.
var (
	opSleep       = guest.Call{Name: abi.OpSleep}
	opActivity    = guest.Call{Name: abi.OpActivity}
	opDeferred    = guest.Call{Name: abi.OpDeferred}
	opResolve     = guest.Call{Name: abi.OpResolve}
	opCall        = guest.Call{Name: abi.OpCall}
	opSend        = guest.Call{Name: abi.OpSend}
	opPoll        = guest.Call{Name: abi.OpPoll}
	opInterrupted = guest.Call{Name: abi.OpInterrupted}
	opPatched     = guest.Call{Name: abi.OpPatched}
	opReceive     = guest.Call{Name: abi.OpReceive}
	opSignal      = guest.Call{Name: abi.OpSignal}
	opEntityCall  = guest.Call{Name: abi.OpEntityCall}
	opEntitySend  = guest.Call{Name: abi.OpEntitySend}
	opLock        = guest.Call{Name: abi.OpLock}
	opUnlock      = guest.Call{Name: abi.OpUnlock}
	opUpdate      = guest.Call{Name: abi.OpUpdate}
	opAnswer      = guest.Call{Name: abi.OpAnswer}
	opPublish     = guest.Call{Name: abi.OpPublish}
	opInterrupt   = guest.Call{Name: abi.OpInterrupt}

	callTxExec     = guest.Call{Name: abi.ImportTxExec}
	callTxQuery    = guest.Call{Name: abi.ImportTxQuery}
	callTxRollback = guest.Call{Name: abi.ImportTxRollback}
	callHTTP       = guest.Call{Name: abi.ImportHTTP}
	callHTTPAll    = guest.Call{Name: abi.ImportHTTPAll}
	callConfig     = guest.Call{Name: abi.ImportConfig}
)

// beginOperation is not there outside a module.
var beginOperation func(index uint32)
