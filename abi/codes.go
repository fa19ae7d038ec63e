package abi

import "errors"

// Code names a kind of failure for good: a code is never reused or renumbered.
// The first digit tells the area: 1 modules, 2 workflows and executions,
// 3 activities, 4 the guest ABI, 5 the host and its store, 6 entities.
type Code string

// Category is the broad kind of a failure; the API maps it to its status codes.
type Category int

// The categories.
const (
	Internal Category = iota
	InvalidArgument
	NotFound
	AlreadyExists
	FailedPrecondition
	ResourceExhausted
	Unavailable
	DeadlineExceeded
	PermissionDenied
	Aborted
)

// The codes.
const (
	CodeNotWasm            Code = "CR-1001"
	CodeModuleTooLarge     Code = "CR-1002"
	CodeUnknownImport      Code = "CR-1003"
	CodeMissingExport      Code = "CR-1004"
	CodeABIVersion         Code = "CR-1005"
	CodeBadManifest        Code = "CR-1006"
	CodeModuleInit         Code = "CR-1007"
	CodeModuleMemory       Code = "CR-1008"
	CodeModuleNotFound     Code = "CR-1009"
	CodeDeploymentNotFound Code = "CR-1010"
	CodeBadDeployment      Code = "CR-1011"
	CodeMigrationFailed    Code = "CR-1012"
	CodeSettingsInUse      Code = "CR-1013"
	CodeStateLost          Code = "CR-1014"

	CodeUnknownWorkflow     Code = "CR-2001"
	CodeBadInput            Code = "CR-2002"
	CodeBadKey              Code = "CR-2003"
	CodeExecutionNotFound   Code = "CR-2004"
	CodePayloadTooLarge     Code = "CR-2005"
	CodeWorkflowFailed      Code = "CR-2006"
	CodeInterrupted         Code = "CR-2007"
	CodePaused              Code = "CR-2008"
	CodeNondeterminism      Code = "CR-2009"
	CodeCrashLoop           Code = "CR-2010"
	CodeNotPaused           Code = "CR-2011"
	CodeAlreadyOver         Code = "CR-2012"
	CodeDeferredSettled     Code = "CR-2013"
	CodeDeferredRejected    Code = "CR-2014"
	CodeBadRequest          Code = "CR-2015"
	CodeExecutionTooLong    Code = "CR-2016"
	CodeKeyFunction         Code = "CR-2017"
	CodeCallToItself        Code = "CR-2018"
	CodeWorkflowManifestLie Code = "CR-2019"
	CodeFailedByOperator    Code = "CR-2020"
	CodeHostFault           Code = "CR-2021"
	CodeHostLost            Code = "CR-2022"
	CodeJournalFormat       Code = "CR-2030"
	CodeDoesNotFit          Code = "CR-2031"
	CodeForkExists          Code = "CR-2032"
	CodeUnknownSignal       Code = "CR-2033"
	CodeInboxFull           Code = "CR-2034"
	CodeUnknownQuery        Code = "CR-2035"
	CodeQueryNotReady       Code = "CR-2036"
	CodeQueryFailed         Code = "CR-2037"
	CodeUnknownUpdate       Code = "CR-2038"
	CodeUpdateRefused       Code = "CR-2039"
	CodeUpdateUnanswered    Code = "CR-2040"
	CodeUnknownState        Code = "CR-2041"
	CodeBadAttribute        Code = "CR-2042"
	CodeUnknownDeferred     Code = "CR-2043"
	CodeFinishedBefore      Code = "CR-2044"
	CodeNotOver             Code = "CR-2045"
	CodeTerminated          Code = "CR-2046"

	CodeBadSchedule      Code = "CR-2050"
	CodeScheduleNotFound Code = "CR-2051"
	CodeScheduleExists   Code = "CR-2052"
	CodeTooManySchedules Code = "CR-2053"

	CodeActivityFailed  Code = "CR-3001"
	CodeActivityTimeout Code = "CR-3002"
	CodeActivityCrashed Code = "CR-3003"
	CodeUnknownActivity Code = "CR-3004"
	CodeSQL             Code = "CR-3101"
	CodeSQLForbidden    Code = "CR-3102"
	CodeTxTooLong       Code = "CR-3103"
	CodeTxConflict      Code = "CR-3104"
	CodeSQLArgument     Code = "CR-3105"
	CodeSQLResult       Code = "CR-3106"
	CodeHTTPForbidden   Code = "CR-3201"
	CodeHTTPInTx        Code = "CR-3202"
	CodeHTTPFailed      Code = "CR-3203"
	CodeHTTPTooLarge    Code = "CR-3204"
	CodeHTTPBadRequest  Code = "CR-3205"
	CodeTxUndecided     Code = "CR-3206"
	CodeNoSockets       Code = "CR-3301"
	CodeNoFiles         Code = "CR-3302"
	CodeNoPrograms      Code = "CR-3303"
	CodeNoZones         Code = "CR-3304"

	CodeBadBody        Code = "CR-4001"
	CodeWrongContext   Code = "CR-4002"
	CodeTooManyOps     Code = "CR-4003"
	CodeBadPointer     Code = "CR-4004"
	CodeGuestTimeout   Code = "CR-4005"
	CodeGuestMemory    Code = "CR-4006"
	CodeGuestTrap      Code = "CR-4007"
	CodeGuestExit      Code = "CR-4008"
	CodeGuestProtocol  Code = "CR-4009"
	CodeBlockingSleep  Code = "CR-4010"
	CodeUnknownInvoke  Code = "CR-4011"
	CodeGuestDeadlock  Code = "CR-4012"
	CodeGuestGoroutine Code = "CR-4013"
	CodeUnreadable     Code = "CR-4014"

	CodeInternal       Code = "CR-5001"
	CodeOverloaded     Code = "CR-5002"
	CodeShuttingDown   Code = "CR-5003"
	CodeFenced         Code = "CR-5004"
	CodeStore          Code = "CR-5005"
	CodeStoreInUse     Code = "CR-5006"
	CodeBadConfig      Code = "CR-5007"
	CodeDeadline       Code = "CR-5008"
	CodeStorePrivilege Code = "CR-5009"
	CodeUnreachable    Code = "CR-5010"
	CodeStoreGone      Code = "CR-5011"
	CodeStoreFull      Code = "CR-5012"
	CodeAddress        Code = "CR-5013"
	CodeStoreLog       Code = "CR-5014"
	CodeStoreNewer     Code = "CR-5015"

	CodeUnknownEntity    Code = "CR-6001"
	CodeUnknownOperation Code = "CR-6002"
	CodeOperationInput   Code = "CR-6003"
	CodeMailboxFull      Code = "CR-6004"
	CodeNoShardGroup     Code = "CR-6005"
	CodeOperationFailed  Code = "CR-6006"
	CodeOperationCrashed Code = "CR-6007"
	CodeStateVersion     Code = "CR-6008"
	CodeEntityNotFound   Code = "CR-6009"
	CodeEntityName       Code = "CR-6010"
	CodeNotLocked        Code = "CR-6011"
	CodeInSection        Code = "CR-6012"
	CodeCannotLock       Code = "CR-6013"
	CodeMayHaveRun       Code = "CR-6014"
	CodeParked           Code = "CR-6015"
	CodeDropped          Code = "CR-6016"
	CodeNotParked        Code = "CR-6017"
)

// CodeInfo holds the properties of every error of a code.
type CodeInfo struct {
	Code     Code
	Category Category
	// Title is the meaning of the code, in a few words.
	Title string
	// Hint says what to do, unless the place of the failure gives a better one.
	Hint string
	// Retryable says whether another attempt may succeed.
	Retryable bool
	// Blame names the party that has to change something before the same can succeed.
	Blame Blame
}

// Blame is the party at fault in a failure. It decides about durable work that failed: a failure of the moment is
// waited for, however long it takes; a failure of the host is tried a limited number of times; a failure of the
// guest or of the caller is an outcome.
type Blame int

// The blames.
const (
	// BlameCaller is for a refused request, and for an error that code returned as its answer.
	BlameCaller Blame = iota
	// BlameGuest is for code that crashed or broke the contract: it would do so again until it is fixed.
	BlameGuest
	// BlameHost is for the host and its store, if the failure says that waiting is not enough.
	BlameHost
	// BlameMoment is for the host, its store or the receiver as they are at the moment: it passes.
	BlameMoment
)

// blameOf is the blame by the code of an error. An error without a code is the host's, and passes.
func blameOf(err error) Blame {
	var e *Error
	if errors.As(err, &e) {
		return e.Code.Info().Blame
	}
	return BlameMoment
}

// IsTransient tells whether an error passes by itself: work that is durable waits for that.
func IsTransient(err error) bool { return err != nil && blameOf(err) == BlameMoment }

// IsOfHost tells whether an error says nothing about the request or the code: the host is to blame, its
// store, or the moment.
func IsOfHost(err error) bool { return err != nil && blameOf(err) >= BlameHost }

// IsHostFault tells whether the host is to blame for an error that does not pass by itself.
func IsHostFault(err error) bool { return err != nil && blameOf(err) == BlameHost }

// IsOfGuest tells whether code crashed or broke the contract.
func IsOfGuest(err error) bool { return err != nil && blameOf(err) == BlameGuest }

// Info looks the code up in [Codes]; an unknown one is an internal failure.
func (c Code) Info() CodeInfo {
	if i, ok := codeIndex[c]; ok {
		return Codes[i]
	}
	return CodeInfo{Code: c, Category: Internal, Title: "unknown code"}
}

var codeIndex = func() map[Code]int {
	m := make(map[Code]int, len(Codes))
	for i, c := range Codes {
		m[c.Code] = i
	}
	return m
}()

// Codes is the one table of error codes; docs/errors.md is generated from it.
var Codes = []CodeInfo{
	{CodeNotWasm, InvalidArgument, "the upload is not a WebAssembly module", "Build it for WebAssembly: GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared, or cargo build --target wasm32-wasip1.", false, BlameCaller},
	{CodeModuleTooLarge, InvalidArgument, "the module is too large", "Leave debug information out (Go: -ldflags='-s -w', Rust: strip = true), or raise the host's --max-module-size.", false, BlameCaller},
	{CodeUnknownImport, InvalidArgument, "the module imports a function that the host does not offer", "Modules may import only the functions of abi/ABI.md and of WASI preview 1; check the version of the guest SDK.", false, BlameCaller},
	{CodeMissingExport, InvalidArgument, "the module lacks a required export", "Go: import the guest SDK in package main and build with -buildmode=c-shared. Rust: write cruster::module! and build a cdylib.", false, BlameCaller},
	{CodeABIVersion, InvalidArgument, "the module was built for another ABI version", "Build the module with a guest SDK of the host's version.", false, BlameCaller},
	{CodeBadManifest, InvalidArgument, "the module's manifest is not valid", "The message names what is wrong. Names start with a letter, hold letters, digits, '_', '-' or '.', and are unique.", false, BlameCaller},
	{CodeModuleInit, InvalidArgument, "the module failed during initialisation", "Code that runs before the first call, such as package-level variables in Go, runs in the sandbox too: it has no files, no network and no environment.", false, BlameGuest},
	{CodeModuleMemory, InvalidArgument, "the module asks for more memory than the host allows", "Lower the module's memory, or raise the host's --guest-memory.", false, BlameCaller},
	{CodeModuleNotFound, FailedPrecondition, "the module of this execution is missing from the store", "Push the module with this digest again and resume the execution, or move it to another with 'cruster-host workflow move EXECUTION --to latest'.", true, BlameCaller},
	{CodeDeploymentNotFound, NotFound, "there is no such deployment", "List deployments with 'cruster-host module list', or push one with 'cruster-host module push FILE --name NAME'.", false, BlameCaller},
	{CodeBadDeployment, InvalidArgument, "the deployment's name or settings are not valid", "The message names what is wrong. Names of deployments are lower-case letters, digits and '-', start with a letter and have at most 63 characters.", false, BlameCaller},
	{CodeMigrationFailed, FailedPrecondition, "a SQL migration of the module failed; nothing was deployed", "Fix the migration and push the module again; migrations that were already applied stay as they are.", false, BlameCaller},
	{CodeSettingsInUse, FailedPrecondition, "the push would take away settings that open executions may use", "Nothing was changed. Push with --force if they do not need them, or wait until they are over.", false, BlameCaller},
	{CodeStateLost, FailedPrecondition, "the code does not fit what is there: states of entities, or calls and answers of open executions", "Nothing was changed. To give a state another shape, keep the old type and add a migration. To give an operation another input or result, or a query or update another answer, add one under another name, and keep the old one until the executions are over. Push with --force if values may go, or need not be read.", false, BlameCaller},

	{CodeUnknownWorkflow, NotFound, "the deployment has no such workflow", "Workflows are named DEPLOYMENT/NAME; 'cruster-host module list' shows them.", false, BlameCaller},
	{CodeBadInput, InvalidArgument, "the input does not fit the workflow's request type", "Compare the input with the type shown by 'cruster-host module describe NAME'.", false, BlameCaller},
	{CodeBadKey, InvalidArgument, "the idempotency key is not valid", "Keys are 1 to 512 bytes of UTF-8 without control characters.", false, BlameCaller},
	{CodeExecutionNotFound, NotFound, "there is no such execution", "Executions are named DEPLOYMENT/WORKFLOW/KEY; 'cruster-host workflow list' shows them.", false, BlameCaller},
	{CodePayloadTooLarge, InvalidArgument, "a payload is larger than 4 MiB", "Keep large data in your database or object store and pass a reference.", false, BlameCaller},
	{CodeWorkflowFailed, Aborted, "the workflow returned an error", "The message comes from the workflow's code; 'cruster-host workflow history' shows its steps.", false, BlameCaller},
	{CodeInterrupted, Aborted, "the execution was asked to stop", "The execution was asked to stop, and its cleanup has run. To do the work again, restart it with 'cruster-host workflow restart', or start it with another key.", false, BlameCaller},
	{CodePaused, FailedPrecondition, "the execution is paused", "Read the reason with 'cruster-host workflow describe'. If the code is the cause, push the fixed module and run 'cruster-host workflow move EXECUTION --to latest'; otherwise remove the cause and run 'cruster-host workflow resume EXECUTION'.", false, BlameCaller},
	{CodeNondeterminism, FailedPrecondition, "on replay the workflow did something other than it did before", "In execute, depend only on the request, on the results of durable calls, and on the SDK's clock and random source. Fix the code, push it with 'cruster-host module push', and run 'cruster-host workflow move EXECUTION --to latest'.", false, BlameGuest},
	{CodeCrashLoop, FailedPrecondition, "the workflow's code crashes each time it runs", "Fix the code (the host's log has what the module wrote), push it with 'cruster-host module push', and run 'cruster-host workflow move EXECUTION --to latest'. If something outside of the code was the cause, remove it and resume the execution.", false, BlameGuest},
	{CodeNotPaused, FailedPrecondition, "the execution is not paused", "Only paused executions can be resumed or failed; to stop one that is running, use 'cruster-host workflow interrupt', or 'cruster-host workflow terminate' if it does not heed that.", false, BlameCaller},
	{CodeAlreadyOver, FailedPrecondition, "the execution has already ended", "Read its result with 'cruster-host workflow poll'.", false, BlameCaller},
	{CodeDeferredSettled, AlreadyExists, "the deferred was already settled; the first settlement stands", "A deferred can be resolved or rejected only once.", false, BlameCaller},
	{CodeDeferredRejected, Aborted, "the deferred was rejected", "The message comes from the caller that rejected the deferred.", false, BlameCaller},
	{CodeBadRequest, InvalidArgument, "the request is not valid", "The message names the field that is wrong.", false, BlameCaller},
	{CodeExecutionTooLong, FailedPrecondition, "the execution's journal is too long", "Have the workflow continue as a new run now and then: docs/long-running.md describes it. 'cruster-host workflow interrupt --resume' ends a paused one with its cleanup.", false, BlameCaller},
	{CodeKeyFunction, InvalidArgument, "the workflow's key function failed", "The key function must return a key for every request, and must not panic; a raw key is a string.", false, BlameGuest},
	{CodeCallToItself, InvalidArgument, "a workflow called its own execution and would wait for itself forever", "Give the call another key or another request.", false, BlameCaller},
	{CodeWorkflowManifestLie, FailedPrecondition, "the module does not contain what its manifest declares", "Rebuild the module with an unmodified guest SDK, push it, and run 'cruster-host workflow move EXECUTION --to latest'.", false, BlameGuest},
	{CodeFailedByOperator, Aborted, "an operator marked the paused execution as failed", "The message holds the operator's reason and the reason for the pause; 'cruster-host workflow history' shows how far the execution got.", false, BlameCaller},
	{CodeHostFault, FailedPrecondition, "the host failed while it worked on this execution", "This is a bug of the host, or its store is damaged: please report it with the details that 'cruster-host workflow describe -o json' shows, or with the line 'host fault' of the host's log. 'cruster-host workflow resume' tries again; other executions are not affected.", false, BlameHost},
	{CodeHostLost, FailedPrecondition, "the host ended several times during the same attempt of an activity", "Find out whether the activity takes the host down: memory, or a statement that the database cannot interrupt. 'cruster-host workflow resume' runs it again and counts anew.", false, BlameHost},
	{CodeJournalFormat, FailedPrecondition, "the journal was written by a newer version of the host", "Run a host of that version or a newer one, then resume the execution.", false, BlameHost},
	{CodeDoesNotFit, FailedPrecondition, "the code does not fit what the execution has done", "Nothing was changed. Keep the steps that have run as they were, or guard the change with Patched; 'cruster-host module check' shows it for all open executions.", false, BlameCaller},
	{CodeForkExists, AlreadyExists, "there is an execution of that name already", "Give the fork another key with --key, or leave it out: one is made then.", false, BlameCaller},
	{CodeUnknownSignal, NotFound, "the workflow has no such signal", "A workflow declares the signals that it can be sent: 'cruster-host module describe NAME' shows them.", false, BlameCaller},
	{CodeInboxFull, ResourceExhausted, "the receiver has too many messages that it has not taken yet", "Wait until it has caught up, or put more into one message.", true, BlameMoment},
	{CodeUnknownQuery, NotFound, "the workflow has no such query", "A workflow declares the queries that it answers: 'cruster-host module describe NAME' shows them.", false, BlameCaller},
	{CodeQueryNotReady, FailedPrecondition, "the workflow does not answer this query yet", "It has not come to the place where it says how. Ask again later.", true, BlameCaller},
	{CodeQueryFailed, Aborted, "the workflow's answer to the query is an error", "The message comes from the workflow's code.", false, BlameCaller},
	{CodeUnknownUpdate, NotFound, "the workflow does not take such an update", "A workflow takes the updates that it declares.", false, BlameCaller},
	{CodeUpdateRefused, FailedPrecondition, "the workflow refused the update", "The message comes from the workflow's code. Nothing was changed.", false, BlameCaller},
	{CodeUpdateUnanswered, Aborted, "the execution ended before it answered the update", "What it did of it cannot be told. 'cruster-host workflow describe' shows how it ended.", false, BlameCaller},
	{CodeUnknownState, NotFound, "the workflow does not publish such a value", "A workflow publishes the state and the attributes that it declares.", false, BlameCaller},
	{CodeBadAttribute, InvalidArgument, "the attribute is not valid", "An attribute is a text of at most 256 bytes, a finite number, a bool or a time, of the type that the workflow declares.", false, BlameCaller},
	{CodeUnknownDeferred, NotFound, "the workflow has no such deferred", "A workflow declares the deferreds that can be settled: 'cruster-host module describe NAME' shows them.", false, BlameCaller},
	{CodeFinishedBefore, AlreadyExists, "there is a finished run under this key, and the start refuses one", "Read its result with 'cruster-host workflow poll', start a new run with --if-finished restart, or use another key.", false, BlameCaller},
	{CodeNotOver, FailedPrecondition, "the execution is not over", "Interrupt it first with 'cruster-host workflow interrupt', or end it at once with 'cruster-host workflow terminate'.", false, BlameCaller},
	{CodeTerminated, Aborted, "the execution was ended at once, without its cleanup", "An operator has terminated it, or the workflow that had called it, which does not wait for it any more. To do the work again, restart it with 'cruster-host workflow restart', or start it with another key.", false, BlameCaller},
	{CodeBadSchedule, InvalidArgument, "the schedule is not valid", "The message names what is wrong; docs/schedules.md describes schedules.", false, BlameCaller},
	{CodeScheduleNotFound, NotFound, "there is no such schedule", "'cruster-host schedule list' shows the schedules of a namespace.", false, BlameCaller},
	{CodeScheduleExists, AlreadyExists, "there is a schedule of that name already", "Change it with 'cruster-host schedule update', or delete it first.", false, BlameCaller},
	{CodeTooManySchedules, ResourceExhausted, "the namespace has as many schedules as it may have", "Delete schedules that are not needed. One schedule can start a workflow that does many things.", false, BlameCaller},

	{CodeActivityFailed, Aborted, "the activity returned an error", "The message comes from the activity's code; 'cruster-host workflow history' shows its attempts.", true, BlameCaller},
	{CodeActivityTimeout, DeadlineExceeded, "an attempt of the activity took longer than its timeout", "Raise the activity's timeout, or make its work shorter.", true, BlameCaller},
	{CodeActivityCrashed, Aborted, "the activity's code crashed", "Fix the code and push it. Run a failed execution again with 'cruster-host workflow restart EXECUTION'; have an open one use the new code with 'cruster-host workflow move EXECUTION --to latest'.", true, BlameGuest},
	{CodeUnknownActivity, NotFound, "the module has no such activity", "Go: register the activity in a package-level variable. Rust: list the workflow that uses it in cruster::module!.", false, BlameCaller},
	{CodeSQL, Aborted, "the database refused a statement of the activity", "The message comes from the database; check the statement and its arguments.", true, BlameCaller},
	{CodeSQLForbidden, PermissionDenied, "the statement is not allowed for modules", "Modules may read and write their own tables; they may not end transactions, change settings or roles, or see other schemas.", false, BlameCaller},
	{CodeTxTooLong, DeadlineExceeded, "the activity's transaction was open for too long", "Keep transactions short: compute and make HTTP calls before the first statement.", true, BlameCaller},
	{CodeTxConflict, Aborted, "the activity's transaction kept colliding with others", "Use rows in the same order everywhere, or make transactions shorter.", true, BlameCaller},
	{CodeSQLArgument, InvalidArgument, "an argument of the statement has a type that the database does not accept", "Arguments are nil, booleans, integers, floats, strings, bytes and times.", false, BlameCaller},
	{CodeSQLResult, ResourceExhausted, "the rows of the query are too large", "Add a LIMIT, or fetch the rows in pages.", false, BlameCaller},
	{CodeHTTPForbidden, PermissionDenied, "the deployment may not call this host", "Grant it with 'cruster-host module push … --allow-http HOST'.", false, BlameCaller},
	{CodeHTTPInTx, FailedPrecondition, "HTTP is refused while a transaction is open", "Make HTTP calls before the activity's first SQL statement, or in another activity: an open transaction makes other writers wait.", false, BlameCaller},
	{CodeHTTPFailed, Unavailable, "the HTTP call failed", "The message comes from the network connection; check that the server can be reached.", true, BlameCaller},
	{CodeHTTPTooLarge, ResourceExhausted, "the HTTP request or response is too large", "Send or fetch less at a time.", false, BlameCaller},
	{CodeHTTPBadRequest, InvalidArgument, "the HTTP request is not valid", "The message names what is wrong. URLs are absolute and start with http:// or https://.", false, BlameCaller},
	{CodeTxUndecided, Unavailable, "a commit is in doubt: the store did not say whether it took effect", "Nothing needs to be done: the host looks the commit up before it goes on.", true, BlameCaller},

	{CodeNoSockets, FailedPrecondition, "a module has no network of its own", "Go: give the library stdhttp.Client(ctx), or use ctx.HTTP(). Rust: use self.http(). The host makes the call, if the deployment was granted the server.", false, BlameCaller},
	{CodeNoFiles, FailedPrecondition, "a module has no files", "Make the file part of the module (Go: embed; Rust: include_bytes!), read settings with ctx.Config, and keep data in the database.", false, BlameCaller},
	{CodeNoPrograms, FailedPrecondition, "a module cannot run other programs", "Call a service over HTTP that does it, or do it in the module itself.", false, BlameCaller},
	{CodeNoZones, FailedPrecondition, "the module does not have the time zones", "Go: import _ \"time/tzdata\", which makes the time zones part of the module (450 KB).", false, BlameCaller},

	{CodeBadBody, InvalidArgument, "a body that the module sent is malformed", "Build the module with a guest SDK of the host's version; abi/ABI.md specifies the bodies.", false, BlameGuest},
	{CodeWrongContext, FailedPrecondition, "the call is not available here", "Make durable calls in the workflow's execute, and side effects in activities.", false, BlameGuest},
	{CodeTooManyOps, ResourceExhausted, "the workflow issued too many ops at once", "Wait for some of them before issuing more.", false, BlameGuest},
	{CodeBadPointer, InvalidArgument, "the module passed a pointer outside its memory", "Build the module with an unmodified guest SDK.", false, BlameGuest},
	{CodeGuestTimeout, DeadlineExceeded, "the module ran for too long without returning", "Look for an endless loop; move heavy computation into an activity with a timeout of its own.", true, BlameGuest},
	{CodeGuestMemory, ResourceExhausted, "the module ran out of memory", "Use less memory, or raise the host's --guest-memory.", true, BlameGuest},
	{CodeGuestTrap, Aborted, "the module crashed", "Fix the code; the host's log has what the module wrote.", true, BlameGuest},
	{CodeGuestExit, Aborted, "the module called exit", "Return an error instead.", true, BlameGuest},
	{CodeGuestProtocol, Aborted, "the module broke the rules of the ABI", "Build the module with an unmodified guest SDK.", false, BlameGuest},
	{CodeBlockingSleep, FailedPrecondition, "the workflow tried to block the host's thread", "In execute, use the SDK's durable sleep and futures. The language's own sleep, timers, files and sockets are not available there.", false, BlameGuest},
	{CodeUnknownInvoke, NotFound, "the module does not contain what it was asked to run", "Go: register workflows and activities in package-level variables. Rust: list workflows in cruster::module!.", false, BlameGuest},
	{CodeGuestDeadlock, Aborted, "deadlock: every task waits and nothing is pending", "Look for a channel, a lock or a future that no other task will ever release or complete.", false, BlameGuest},
	{CodeGuestGoroutine, FailedPrecondition, "a goroutine that the SDK did not start called a durable function", "Start coroutines of a workflow with cruster.Go, not with the go statement.", false, BlameGuest},
	{CodeUnreadable, FailedPrecondition, "the workflow's code cannot read a value that was delivered to it", "Nothing is lost: the value is in the journal. Compare the types of both sides: 'cruster-host workflow history' shows the value, 'cruster-host module describe' the types. Push code that reads it and run 'cruster-host workflow move EXECUTION --to latest', or restore the code that sent it and fork the execution.", false, BlameGuest},

	{CodeInternal, Internal, "something went wrong inside the host", "This is a bug: please report it with the host's log.", true, BlameHost},
	{CodeOverloaded, ResourceExhausted, "the host is overloaded", "Try again after the delay that the reply names.", true, BlameMoment},
	{CodeShuttingDown, Unavailable, "the host is starting up or shutting down", "Try again on another host, or once it is back.", true, BlameMoment},
	{CodeFenced, Unavailable, "another host has taken over", "Nothing was written; send the request to the new owner.", true, BlameMoment},
	{CodeStore, Unavailable, "the store did not answer", "Check the database; the host goes on by itself once the database is back.", true, BlameMoment},
	{CodeStoreInUse, FailedPrecondition, "another process uses this store", "Stop the other host, or choose another data folder.", false, BlameHost},
	{CodeBadConfig, InvalidArgument, "a setting of the host is not valid", "See 'cruster-host serve --help' for the settings.", false, BlameHost},
	{CodeDeadline, DeadlineExceeded, "the caller's deadline passed before the result was ready", "If the request reached the host, its work goes on: ask again with the same key. 'cruster-host workflow describe' shows what an execution waits for.", true, BlameMoment},
	{CodeStorePrivilege, FailedPrecondition, "the database user lacks a right that Cruster needs", "Run the migrations once as a database user who may create schemas and roles.", false, BlameHost},
	{CodeUnreachable, Unavailable, "no host answers at the address", "Check --addr or CRUSTER_ADDR, and that a host runs there; 'cruster-host dev' starts one.", true, BlameHost},
	{CodeStoreGone, Unavailable, "the files of the store were deleted or replaced under the host", "The host has ended. Put the data folder back, or restore a backup, and start the host again; replace files only while it is stopped.", false, BlameMoment},
	{CodeStoreFull, Unavailable, "the disk of the store is full", "Make room on the disk, then start the host again. Nothing that was acknowledged is lost.", true, BlameMoment},
	{CodeAddress, FailedPrecondition, "an address of the host is in use", "Choose another address with --grpc-addr or --http-addr, or stop what listens there.", false, BlameHost},
	{CodeStoreLog, FailedPrecondition, "the log of the embedded store, or the database that it belongs to, is missing", "Put the file back, or restore a backup. If it cannot be had, or another program (sqlite3) has opened the store since the host ended: 'cruster-host migrate --store sqlite:DIR --accept-lost-log' accepts the store as it is.", false, BlameHost},
	{CodeStoreNewer, FailedPrecondition, "the schema of the store is newer than this program", "Start the version of cruster-host that has written it, or a later one. Nothing was changed.", false, BlameHost},

	{CodeUnknownEntity, NotFound, "the deployment has no such type of entity", "Entities are named DEPLOYMENT/TYPE/ID; 'cruster-host module describe DEPLOYMENT' shows the types.", false, BlameCaller},
	{CodeUnknownOperation, NotFound, "the entity has no such operation", "'cruster-host module describe DEPLOYMENT' shows the operations of each type.", false, BlameCaller},
	{CodeOperationInput, InvalidArgument, "the input does not fit the operation's type", "Compare the input with the type shown by 'cruster-host module describe DEPLOYMENT'.", false, BlameCaller},
	{CodeMailboxFull, ResourceExhausted, "the mailbox of the entity is full", "The call was not accepted, and nothing has run. Try again later, with the same request id; spread the work over more entities, or give the type a larger mailbox.", true, BlameMoment},
	{CodeNoShardGroup, Unavailable, "no host serves the shard group of the entity", "Start a host that serves the group, or leave the group out of the declaration of the entity.", true, BlameMoment},
	{CodeOperationFailed, Aborted, "the operation returned an error", "The message comes from the entity's code. The operation has changed nothing.", false, BlameCaller},
	{CodeOperationCrashed, Aborted, "the operation crashed", "Fix the code and push it again. The operation has changed nothing, and the others that ran beside it are not affected.", false, BlameGuest},
	{CodeStateVersion, FailedPrecondition, "the state of the entity was written by newer code", "Push the newer module again: code can read states of its own version and of older ones.", false, BlameCaller},
	{CodeEntityNotFound, NotFound, "there is no such entity", "An entity with a state is there from its first operation until it is destroyed; 'cruster-host entity list' shows them.", false, BlameCaller},
	{CodeEntityName, InvalidArgument, "the name of the entity is not valid", "Entities are named DEPLOYMENT/TYPE/ID; an id is 1 to 512 bytes of UTF-8 without control characters.", false, BlameCaller},
	{CodeNotLocked, FailedPrecondition, "the workflow is in a critical section and has not locked the entity", "Lock all entities that the section calls, at its beginning. An operator may have taken the lock away.", false, BlameCaller},
	{CodeInSection, FailedPrecondition, "this is not allowed in a critical section", "The message says what to do instead. A section that could wait for another one might wait for ever.", false, BlameCaller},
	{CodeCannotLock, InvalidArgument, "the entities cannot be locked", "Entities with a state can be locked, each once in a section.", false, BlameCaller},
	{CodeMayHaveRun, Aborted, "the answer to the call was lost, and the operation may have run", "An operation of an entity without a state is performed once however often it is asked for if it is persisted. Look what became of this one before you make another call.", false, BlameCaller},
	{CodeParked, FailedPrecondition, "the message could not be performed and is parked", "Nothing is lost: 'cruster-host entity parked' shows why. Remove the cause and run 'cruster-host entity retry', or give it up with 'cruster-host entity drop'.", false, BlameCaller},
	{CodeDropped, Aborted, "an operator dropped the message; it was not performed", "The message holds why it could not be performed. To have it performed after all, send it again with another request id.", false, BlameCaller},
	{CodeNotParked, NotFound, "the entity has no such parked message", "'cruster-host entity parked' shows parked messages and their positions. It may have been retried or dropped meanwhile.", false, BlameCaller},
}
