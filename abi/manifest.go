package abi

// Manifest is what a module says it contains; cruster_describe hands it over
// with output. Lists are sorted by name (migrations by version).
type Manifest struct {
	Activities []ActivityInfo `msgpack:"activities"`
	Entities   []EntityInfo   `msgpack:"entities"`
	Migrations []Migration    `msgpack:"migrations"`
	// Schedules are made when the module is deployed.
	Schedules []ScheduleInfo `msgpack:"schedules"`
	// SDK names what the module was written with, for people: "go/0.1.0".
	SDK       string         `msgpack:"sdk"`
	Workflows []WorkflowInfo `msgpack:"workflows"`
}

// How a workflow derives the key of a request, as in [WorkflowInfo.Key].
const (
	// KeyFromRequest is SHA-256 of the canonical request: no guest code runs.
	KeyFromRequest = "request"
	// KeyFromFunctionHashed runs the guest's key function (InvokeKey) and hashes
	// its result.
	KeyFromFunctionHashed = "function_hashed"
	// KeyFromFunctionRaw runs the guest's key function and uses its result, a
	// string, as it is.
	KeyFromFunctionRaw = "function_raw"
)

// WorkflowInfo describes one workflow.
type WorkflowInfo struct {
	// Attributes are those by which executions are found, sorted by name.
	Attributes []AttributeInfo `msgpack:"attributes"`
	// Deferreds are the promises that may be settled, sorted by name. Nil says that the
	// module does not tell: every name and every value is taken.
	Deferreds []DeferredInfo `msgpack:"deferreds"`
	Input     *Schema        `msgpack:"input"`
	Key       string         `msgpack:"key"`
	Name      string         `msgpack:"name"`
	Output    *Schema        `msgpack:"output"`
	// Queries are those that the workflow answers, sorted by name.
	Queries []QueryInfo `msgpack:"queries"`
	// Signals are those that the workflow may be sent, sorted by name.
	Signals []SignalInfo `msgpack:"signals"`
	// State are the values that runs publish, sorted by name.
	State []StateInfo `msgpack:"state"`
	// Updates are those that the workflow takes, sorted by name.
	Updates []UpdateInfo `msgpack:"updates"`
}

// QueryInfo describes a query of a workflow.
type QueryInfo struct {
	Input  *Schema `msgpack:"input"`
	Name   string  `msgpack:"name"`
	Output *Schema `msgpack:"output"`
}

// SignalInfo describes a signal of a workflow.
type SignalInfo struct {
	Name string `msgpack:"name"`
	// Value is the type of what it brings; nil is any.
	Value *Schema `msgpack:"value"`
}

// ActivityInfo describes one activity. Retry and Timeout are its defaults, for
// people to read: each [Activity] op carries its own.
type ActivityInfo struct {
	Input   *Schema `msgpack:"input"`
	Name    string  `msgpack:"name"`
	Output  *Schema `msgpack:"output"`
	Retry   Retry   `msgpack:"retry"`
	Timeout int64   `msgpack:"timeout"`
}

// SQL dialects of a [Migration].
const (
	DialectAny      = ""
	DialectSQLite   = "sqlite"
	DialectPostgres = "postgres"
)

// Migration is one step of a module's SQL schema. The host applies the steps in
// order of Version, once each, when the module is deployed, and skips those of
// the other dialect. A step that was applied must not change.
type Migration struct {
	Dialect string `msgpack:"dialect"`
	Name    string `msgpack:"name"`
	SQL     string `msgpack:"sql"`
	Version int64  `msgpack:"version"`
}
