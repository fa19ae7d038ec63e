package guest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// SDK names this SDK in manifests.
const SDK = "go/0.1.0"

// Workflow is a registered workflow.
type Workflow struct {
	Name    string
	Package string // that registered it; see Register
	KeyMode string
	Input   reflect.Type
	Output  reflect.Type
	// Queries are the queries it answers.
	Queries []Query
	// Signals are the signals it accepts.
	Signals []Signal
	// Deferreds are the deferreds that can be settled.
	Deferreds []Deferred
	// Updates are the updates it takes, by the ops that UpdateOps names.
	Updates   []Update
	UpdateOps UpdateOps
	// State and Attributes are the values its runs publish.
	State      []StateValue
	Attributes []abi.AttributeInfo
	// Interrupted is the op that waits for an interrupt.
	Interrupted *Call
	// Receive is the op that receives a signal.
	Receive *Call
	// Run executes the workflow; body and result are msgpack.
	Run func(s Scope, body []byte) ([]byte, error)
	// Key computes the key of a request; nil if the host derives it.
	Key func(body []byte) ([]byte, error)
}

// Activity is a registered activity.
type Activity struct {
	Name    string
	Package string // that registered it; see Register
	Input   reflect.Type
	Output  reflect.Type
	Retry   abi.Retry
	Timeout int64
	// Run performs one attempt; body and result are msgpack.
	Run func(a Attempt, body []byte) ([]byte, error)
}

// Registry holds the definitions of a module. It is filled while packages are initialised and
// read-only from then on.
type Registry struct {
	workflows  map[string]*Workflow
	activities map[string]*Activity
	entities   map[string]*Entity
	// runEntity is set by AddEntity, and warmEntity too, so that a module without entities is not linked with the code
	// for them.
	runEntity  func(r *Registry, h Host, inv abi.Invocation) *abi.Outcome
	warmEntity func(h Host, inv abi.Invocation) bool
	migrations []abi.Migration
	schedules  []abi.ScheduleInfo
}

// Default is the registry of the module.
var Default = &Registry{}

// AddWorkflow registers a workflow. Like all registrations it panics if that fails, because package initialisation
// cannot return an error.
func (r *Registry) AddWorkflow(w *Workflow) {
	CheckName("workflow", w.Name)
	CheckTypes(fmt.Sprintf("workflow %q", w.Name), w.Input, w.Output)
	if _, ok := r.workflows[w.Name]; ok {
		panic(fmt.Sprintf("cruster: workflow %q is registered twice", w.Name))
	}
	if r.workflows == nil {
		r.workflows = map[string]*Workflow{}
	}
	r.workflows[w.Name] = w
}

// AddActivity registers an activity.
func (r *Registry) AddActivity(a *Activity) {
	CheckName("activity", a.Name)
	CheckTypes(fmt.Sprintf("activity %q", a.Name), a.Input, a.Output)
	if _, ok := r.activities[a.Name]; ok {
		panic(fmt.Sprintf("cruster: activity %q is registered twice", a.Name))
	}
	if r.activities == nil {
		r.activities = map[string]*Activity{}
	}
	r.activities[a.Name] = a
}

// AddMigration registers a step of the SQL schema.
func (r *Registry) AddMigration(m abi.Migration) {
	switch m.Dialect {
	case abi.DialectAny, abi.DialectSQLite, abi.DialectPostgres:
	default:
		panic(fmt.Sprintf("cruster: migration %d has the unknown dialect %q", m.Version, m.Dialect))
	}
	if m.Version <= 0 || strings.TrimSpace(m.SQL) == "" {
		panic(fmt.Sprintf("cruster: migration %d %q needs a version above zero and SQL", m.Version, m.Name))
	}
	for _, o := range r.migrations {
		if o.Version == m.Version &&
			(o.Dialect == m.Dialect || o.Dialect == abi.DialectAny || m.Dialect == abi.DialectAny) {
			panic(fmt.Sprintf("cruster: migration %d is registered twice: %q and %q", m.Version, o.Name, m.Name))
		}
	}
	r.migrations = append(r.migrations, m)
}

// AddSchedule registers a schedule.
func (r *Registry) AddSchedule(s abi.ScheduleInfo) {
	CheckName("schedule", s.Name)
	if slices.ContainsFunc(r.schedules, func(o abi.ScheduleInfo) bool { return o.Name == s.Name }) {
		panic(fmt.Sprintf("cruster: schedule %q is registered twice", s.Name))
	}
	r.schedules = append(r.schedules, s)
}

// Workflow returns the workflow of that name.
func (r *Registry) Workflow(name string) (*Workflow, bool) {
	w, ok := r.workflows[name]
	return w, ok
}

// Activity returns the activity of that name.
func (r *Registry) Activity(name string) (*Activity, bool) {
	a, ok := r.activities[name]
	return a, ok
}

// Manifest describes the module.
func (r *Registry) Manifest() abi.Manifest {
	m := abi.Manifest{
		Activities: make([]abi.ActivityInfo, 0, len(r.activities)),
		Entities:   r.entityInfo(),
		Migrations: slices.Clone(r.migrations),
		Schedules:  slices.Clone(r.schedules),
		SDK:        SDK,
		Workflows:  make([]abi.WorkflowInfo, 0, len(r.workflows)),
	}
	for _, a := range r.activities {
		m.Activities = append(m.Activities, abi.ActivityInfo{
			Input: SchemaOf(a.Input), Name: a.Name, Output: SchemaOf(a.Output), Retry: a.Retry, Timeout: a.Timeout,
		})
	}
	for _, w := range r.workflows {
		m.Workflows = append(m.Workflows, w.info())
	}
	slices.SortFunc(m.Activities, func(a, b abi.ActivityInfo) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Schedules, func(a, b abi.ScheduleInfo) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Workflows, func(a, b abi.WorkflowInfo) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(m.Migrations, func(a, b abi.Migration) int {
		if a.Version != b.Version {
			return int(min(max(a.Version-b.Version, -1), 1))
		}
		return strings.Compare(a.Dialect, b.Dialect)
	})
	return m
}

// info describes the workflow.
func (w *Workflow) info() abi.WorkflowInfo {
	return abi.WorkflowInfo{
		Attributes: w.attributeInfo(),
		Deferreds:  w.deferredInfo(),
		Input:      SchemaOf(w.Input),
		Key:        w.KeyMode,
		Name:       w.Name,
		Output:     SchemaOf(w.Output),
		Queries:    w.queryInfo(),
		Signals:    w.signalInfo(),
		State:      w.stateInfo(),
		Updates:    w.updateInfo(),
	}
}

// CheckName panics unless name is a valid name of a workflow, an activity, a deferred and so on.
func CheckName(kind, name string) {
	if problem := nameProblem(name); problem != "" {
		panic(fmt.Sprintf("cruster: %s name %q %s", kind, name, problem))
	}
}

func nameProblem(name string) string {
	if name == "" || len(name) > abi.MaxName {
		return fmt.Sprintf("must have 1 to %d bytes", abi.MaxName)
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if i == 0 && !letter {
			return "must start with a letter"
		}
		if !letter && (c < '0' || c > '9') && c != '_' && c != '-' && c != '.' {
			return "may hold only letters, digits, '_', '-' and '.'"
		}
	}
	return ""
}
