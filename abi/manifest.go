package abi

import (
	"slices"
	"strings"
)

// Manifest lists the contents of a module; cruster_describe hands it over with output. Lists are sorted by name
// (migrations by version).
type Manifest struct {
	Activities []ActivityInfo `msgpack:"activities"`
	Entities   []EntityInfo   `msgpack:"entities"`
	Migrations []Migration    `msgpack:"migrations"`
	// Schedules are made when the module is deployed.
	Schedules []ScheduleInfo `msgpack:"schedules"`
	// SDK names the SDK that the module was written with, for people: "go/0.1.0".
	SDK       string         `msgpack:"sdk"`
	Workflows []WorkflowInfo `msgpack:"workflows"`
}

// Workflow finds a workflow of the module, which has this name as a deployment.
func (m *Manifest) Workflow(deployment, name string) (*WorkflowInfo, error) {
	if i := slices.IndexFunc(m.Workflows, func(w WorkflowInfo) bool { return w.Name == name }); i >= 0 {
		return &m.Workflows[i], nil
	}
	names, full := make([]string, len(m.Workflows)), make([]string, len(m.Workflows))
	for i := range m.Workflows {
		names[i], full[i] = m.Workflows[i].Name, deployment+"/"+m.Workflows[i].Name
	}
	err := Errorf(
		CodeUnknownWorkflow, "deployment %q has no workflow %.100q%s", deployment, name, DidYouMean(name, names),
	)
	if len(names) == 0 {
		return nil, err.WithHint("Its module declares no workflows.")
	}
	return nil, err.WithHint("It has %s.", strings.Join(full, ", "))
}

// HasActivity tells whether a module has an activity of that name. A module that lists none does not say.
func (m *Manifest) HasActivity(name string) bool {
	return len(m.Activities) == 0 ||
		slices.ContainsFunc(m.Activities, func(a ActivityInfo) bool { return a.Name == name })
}

// How a workflow derives the key of a request, as in [WorkflowInfo.Key].
const (
	// KeyFromRequest is SHA-256 of the canonical request: no guest code runs.
	KeyFromRequest = "request"
	// KeyFromFunctionHashed runs the guest's key function (InvokeKey) and hashes its result.
	KeyFromFunctionHashed = "function_hashed"
	// KeyFromFunctionRaw runs the guest's key function and uses its result, a string, as it is.
	KeyFromFunctionRaw = "function_raw"
)

// WorkflowInfo describes one workflow.
type WorkflowInfo struct {
	// Attributes are the search keys of executions, sorted by name.
	Attributes []AttributeInfo `msgpack:"attributes"`
	// Deferreds are the promises that may be settled, sorted by name. Nil says that the module does not tell: every
	// name and every value is taken.
	Deferreds []DeferredInfo `msgpack:"deferreds"`
	Input     *Schema        `msgpack:"input"`
	Key       string         `msgpack:"key"`
	Name      string         `msgpack:"name"`
	Output    *Schema        `msgpack:"output"`
	// Queries are the queries that the workflow answers, sorted by name.
	Queries []QueryInfo `msgpack:"queries"`
	// Signals are the signals that the workflow may be sent, sorted by name.
	Signals []SignalInfo `msgpack:"signals"`
	// State are the values that runs publish, sorted by name.
	State []StateInfo `msgpack:"state"`
	// Updates are the updates that the workflow takes, sorted by name.
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
	// Value is the type of its result; nil is any.
	Value *Schema `msgpack:"value"`
}

// ActivityInfo describes one activity. Retry and Timeout are its defaults, for people to read: each [Activity] op
// carries its own.
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

// Migration is one step of a module's SQL schema. The host applies the steps in order of Version, once each, when the
// module is deployed, and skips steps of the other dialect. A step that was applied must not change.
type Migration struct {
	Dialect string `msgpack:"dialect"`
	Name    string `msgpack:"name"`
	SQL     string `msgpack:"sql"`
	Version int64  `msgpack:"version"`
}
