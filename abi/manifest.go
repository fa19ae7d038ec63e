package abi

// Manifest is what a module says it contains; cruster_describe hands it over
// with output. Lists are sorted by name (migrations by version).
type Manifest struct {
	Activities []ActivityInfo `msgpack:"activities"`
	Migrations []Migration    `msgpack:"migrations"`
	// SDK names what the module was written with, for people: "go/0.1.0".
	SDK       string         `msgpack:"sdk"`
	Workflows []WorkflowInfo `msgpack:"workflows"`
}

// How a workflow derives the key of a request, as in [WorkflowInfo.Key].
const (
	// KeyFromRequest is SHA-256 of the canonical request: no guest code runs.
	KeyFromRequest = "request"
	// KeyFromFunctionHashed asks the guest (InvokeKey) and hashes its answer.
	KeyFromFunctionHashed = "function_hashed"
	// KeyFromFunctionRaw asks the guest and uses its answer, a string, as it is.
	KeyFromFunctionRaw = "function_raw"
)

// WorkflowInfo describes one workflow.
type WorkflowInfo struct {
	Input  *Schema `msgpack:"input"`
	Key    string  `msgpack:"key"`
	Name   string  `msgpack:"name"`
	Output *Schema `msgpack:"output"`
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

// Migration is one step of the SQL schema a module brings along. Steps are
// applied in order of Version, once each, when the module is deployed; the
// steps of the other dialect are passed over. An applied step never changes.
type Migration struct {
	Dialect string `msgpack:"dialect"`
	Name    string `msgpack:"name"`
	SQL     string `msgpack:"sql"`
	Version int64  `msgpack:"version"`
}
