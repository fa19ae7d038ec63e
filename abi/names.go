package abi

// Version is the ABI version that a guest must return from [ExportABI].
const Version = 1

// Functions a guest exports. All but [ExportInitialize] and [ExportQuery] are required.
const (
	ExportInitialize = "_initialize"
	ExportABI        = "cruster_abi"
	ExportDescribe   = "cruster_describe"
	ExportStart      = "cruster_start"
	ExportResume     = "cruster_resume"
	ExportQuery      = "cruster_query"
	ExportMemory     = "memory"
)

// ExportWhere is a global that a guest may export: the address of a block of [WhereBytes] which says
// the running task. The host shows it when it stops a turn that does not end.
const (
	ExportWhere = "cruster_where"
	WhereBytes  = 32
)

// The results of [ExportStart] and [ExportResume].
const (
	// StatusDone says that the invocation has ended and its [Outcome] was handed over with [ImportOutput].
	StatusDone int32 = 0
	// StatusParked says that the guest waits for deliveries.
	StatusParked int32 = 1
)

// ImportModule is the Wasm module name of all Cruster imports.
const ImportModule = "cruster"

// Imports that every invocation may call.
const (
	// ImportInput (ptr i32) copies the pending input into guest memory.
	ImportInput = "input"
	// ImportOutput (ptr, len i32) hands bytes to the host.
	ImportOutput = "output"
	// ImportLog (level, ptr, len i32) writes one log record.
	ImportLog = "log"
)

// Kinds of durable operation. Each is also the name of the import that issues it: (ptr, len i32) → op i32. A result
// above zero is the number of the op; a negative one, -n, says that the op was refused and that an [Error] of n bytes
// is pending for [ImportInput].
const (
	OpSleep       = "sleep"
	OpActivity    = "activity"
	OpDeferred    = "deferred"
	OpResolve     = "resolve"
	OpCall        = "call"
	OpSend        = "send"
	OpPoll        = "poll"
	OpInterrupted = "interrupted"
	OpPatched     = "patched"
	OpReceive     = "receive"
	OpSignal      = "signal"
	OpEntityCall  = "entity_call"
	OpEntitySend  = "entity_send"
	OpLock        = "lock"
	OpUnlock      = "unlock"
	OpUpdate      = "update"
	OpAnswer      = "answer"
	OpPublish     = "publish"
	OpInterrupt   = "interrupt"
)

// ImportCancel (op i32) tells the host that the guest no longer waits for an op. The host does not deliver the op after
// that.
const ImportCancel = "cancel"

// ImportOperation (index i32) → i32 tells the host that the guest begins the operation of that number, from 0 on, of
// the [Operations] that it runs; their count says that it has run them all. The result is 0; a negative one, -n, says
// that the host has refused it, and that an [Error] of n bytes is pending.
const ImportOperation = "operation"

// Immediate calls of activities: (ptr, len i32) → n i32. A result of zero or more is the length of the reply that is
// pending for [ImportInput]; a negative one, -n, says that the call failed and that an [Error] of n bytes is pending.
const (
	ImportTxExec  = "tx_exec"
	ImportTxQuery = "tx_query"
	// ImportTxRollback undoes the statements so far.
	ImportTxRollback = "tx_rollback"
	ImportHTTP       = "http"
	// ImportHTTPAll makes several calls at the same time.
	ImportHTTPAll = "http_all"
	// ImportConfig reads a configuration value of the deployment.
	ImportConfig = "config"
)

// OpKinds lists the durable imports, in the order of the specification.
var OpKinds = []string{
	OpSleep, OpActivity, OpDeferred, OpResolve, OpCall, OpSend, OpPoll, OpInterrupted, OpPatched, OpReceive, OpSignal,
	OpEntityCall, OpEntitySend,
	OpLock, OpUnlock, OpUpdate, OpAnswer, OpPublish, OpInterrupt,
}

// ImmediateCalls lists the imports that reply before they return.
var ImmediateCalls = []string{ImportTxExec, ImportTxQuery, ImportTxRollback, ImportHTTP, ImportHTTPAll, ImportConfig}

// Log levels of [ImportLog], as in log/slog.
const (
	LogDebug int32 = -4
	LogInfo  int32 = 0
	LogWarn  int32 = 4
	LogError int32 = 8
)
