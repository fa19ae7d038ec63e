package view

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Deployment is the JSON of a deployment.
type Deployment struct {
	Namespace  string     `json:"namespace"`
	Name       string     `json:"name"`
	Digest     string     `json:"digest"`
	Version    int64      `json:"version"`
	UpdatedAt  *time.Time `json:"updated_at,omitempty"`
	ConfigKeys []string   `json:"config_keys,omitempty"`
	AllowHTTP  []string   `json:"allow_http,omitempty"`
	Imports    []string   `json:"imports,omitempty"`
	SDK        string     `json:"sdk,omitempty"`
	Workflows  []Workflow `json:"workflows"`
	Activities []Activity `json:"activities"`
	// Entities are the types of entities.
	Entities []EntityType `json:"entities,omitempty"`
	// Schedules are the schedules that the module declares, as they are now; only 'module describe'
	// has them.
	Schedules []Schedule `json:"schedules,omitempty"`
}

// Workflow is the JSON of a workflow of a deployment.
type Workflow struct {
	Name    string   `json:"name"`
	Key     string   `json:"key"`
	Input   *Schema  `json:"input"`
	Output  *Schema  `json:"output"`
	Queries []Query  `json:"queries,omitempty"`
	Signals []Signal `json:"signals,omitempty"`
	Updates []Update `json:"updates,omitempty"`
	// Deferreds are the deferreds that can be settled, unless AnyDeferred says that all can.
	Deferreds   []Deferred `json:"deferreds,omitempty"`
	AnyDeferred bool       `json:"any_deferred,omitempty"`
	// State lists the values executions publish, and Attributes their search attributes.
	State      []Signal    `json:"state,omitempty"`
	Attributes []Attribute `json:"attributes,omitempty"`
}

// Update is the JSON of an update of a workflow.
type Update struct {
	Name      string  `json:"name"`
	Input     *Schema `json:"input"`
	Output    *Schema `json:"output"`
	Validated bool    `json:"validated,omitempty"`
}

// Attribute is the JSON of an attribute of a workflow.
type Attribute struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// Query is the JSON of a query of a workflow.
type Query struct {
	Name   string  `json:"name"`
	Input  *Schema `json:"input"`
	Output *Schema `json:"output"`
}

// Signal is the JSON of a signal of a workflow, or of a value that it publishes.
type Signal struct {
	Name  string  `json:"name"`
	Value *Schema `json:"value"`
}

// Deferred is the JSON of a deferred of a workflow. The name of a dynamic one is the prefix of its
// names.
type Deferred struct {
	Name    string  `json:"name"`
	Value   *Schema `json:"value"`
	Dynamic bool    `json:"dynamic,omitempty"`
}

// Activity is the JSON of an activity of a deployment.
type Activity struct {
	Name    string  `json:"name"`
	Input   *Schema `json:"input"`
	Output  *Schema `json:"output"`
	Retries uint32  `json:"retries"`
	// FirstPause is before the first retry; Backoff says how the pauses go on.
	FirstPause string `json:"first_pause,omitempty"`
	Backoff    string `json:"backoff,omitempty"`
	Timeout    string `json:"timeout,omitempty"`
}

// DeploymentOf is the shape of a deployment.
func DeploymentOf(d *crusterv1.Deployment) Deployment {
	v := Deployment{
		Namespace:  d.GetNamespace(),
		Name:       d.GetName(),
		Digest:     d.GetDigest(),
		Version:    d.GetVersion(),
		UpdatedAt:  timeOf(d.GetUpdateTime()),
		ConfigKeys: d.GetConfigKeys(),
		AllowHTTP:  d.GetAllowHttp(),
		Imports:    d.GetImports(),
		SDK:        d.GetSdk(),
		Workflows:  []Workflow{},
		Activities: []Activity{},
	}
	for _, w := range d.GetWorkflows() {
		workflow := Workflow{
			Name: w.GetName(), Key: w.GetKey(), Input: SchemaOf(w.GetInput()), Output: SchemaOf(w.GetOutput()),
		}
		for _, s := range w.GetSignals() {
			workflow.Signals = append(workflow.Signals, Signal{Name: s.GetName(), Value: SchemaOf(s.GetValue())})
		}
		workflow.AnyDeferred = w.GetAnyDeferred()
		for _, d := range w.GetDeferreds() {
			workflow.Deferreds = append(workflow.Deferreds, Deferred{
				Name: d.GetName(), Value: SchemaOf(d.GetValue()), Dynamic: d.GetDynamic(),
			})
		}
		for _, q := range w.GetQueries() {
			workflow.Queries = append(workflow.Queries, Query{
				Name: q.GetName(), Input: SchemaOf(q.GetInput()), Output: SchemaOf(q.GetOutput()),
			})
		}
		for _, u := range w.GetUpdates() {
			workflow.Updates = append(workflow.Updates, Update{
				Name:      u.GetName(),
				Input:     SchemaOf(u.GetInput()),
				Output:    SchemaOf(u.GetOutput()),
				Validated: u.GetValidated(),
			})
		}
		for _, s := range w.GetState() {
			workflow.State = append(workflow.State, Signal{Name: s.GetName(), Value: SchemaOf(s.GetValue())})
		}
		for _, a := range w.GetAttributes() {
			workflow.Attributes = append(workflow.Attributes, Attribute{Name: a.GetName(), Type: a.GetType()})
		}
		v.Workflows = append(v.Workflows, workflow)
	}
	for _, e := range d.GetEntities() {
		v.Entities = append(v.Entities, entityTypeOf(e))
	}
	for _, a := range d.GetActivities() {
		activity := Activity{
			Name:    a.GetName(),
			Input:   SchemaOf(a.GetInput()),
			Output:  SchemaOf(a.GetOutput()),
			Retries: a.GetRetries(),
			Backoff: a.GetBackoff(),
		}
		if a.GetFirstPause() != nil {
			activity.FirstPause = a.GetFirstPause().AsDuration().String()
		}
		if a.GetTimeout() != nil {
			activity.Timeout = a.GetTimeout().AsDuration().String()
		}
		v.Activities = append(v.Activities, activity)
	}
	return v
}

// WriteDeployments writes a table of deployments.
func WriteDeployments(w io.Writer, deployments []*crusterv1.Deployment) error {
	var rows [][]string
	for _, d := range deployments {
		rows = append(rows, []string{
			d.GetName(), strconv.FormatInt(d.GetVersion(), 10), shortDigest(d.GetDigest()), timeText(d.GetUpdateTime()),
			workflowNames(d),
		})
	}
	return terminal.Table(w, []string{"NAME", "VERSION", "DIGEST", "UPDATED", "WORKFLOWS"}, rows)
}

// WriteDeployment writes all that is known of a deployment: its settings, then its workflows and activities with their
// types.
func WriteDeployment(w io.Writer, d *crusterv1.Deployment, addrFlag string) error {
	err := terminal.Lines(w,
		terminal.Line{Name: "name", Value: d.GetName()},
		terminal.Line{Name: "namespace", Value: d.GetNamespace()},
		terminal.Line{Name: "version", Value: strconv.FormatInt(d.GetVersion(), 10)},
		terminal.Line{Name: "digest", Value: d.GetDigest()},
		terminal.Line{Name: "updated", Value: timeText(d.GetUpdateTime())},
		terminal.Line{Name: "sdk", Value: terminal.OneLine(d.GetSdk())},
		terminal.Line{Name: "config", Value: strings.Join(d.GetConfigKeys(), ", ")},
		terminal.Line{Name: "allow-http", Value: strings.Join(d.GetAllowHttp(), ", ")},
		terminal.Line{Name: "imports", Value: importNames(d.GetImports())},
	)
	if err != nil {
		return err
	}
	for _, f := range d.GetWorkflows() {
		fmt.Fprintf(
			w, "\nworkflow %s/%s\n  key:     %s\n  request: %s\n  result:  %s\n  run:     %s\n", d.GetName(),
			f.GetName(), keyText(f.GetKey()),
			schemaText(f.GetInput(), "  "), schemaText(f.GetOutput(), "  "), executeCommand(d, f, addrFlag),
		)
		for _, s := range f.GetSignals() {
			fmt.Fprintf(w, "  signal %s: %s\n", s.GetName(), schemaText(s.GetValue(), "  "))
		}
		for _, d := range f.GetDeferreds() {
			fmt.Fprintf(w, "  deferred %s: %s\n", deferredName(d), schemaText(d.GetValue(), "  "))
		}
		for _, q := range f.GetQueries() {
			fmt.Fprintf(
				w, "  query %s: %s, answered with %s\n", q.GetName(), schemaText(q.GetInput(), "  "),
				schemaText(q.GetOutput(), "  "),
			)
		}
		for _, u := range f.GetUpdates() {
			fmt.Fprintf(
				w, "  update %s: %s, answered with %s\n", u.GetName(), schemaText(u.GetInput(), "  "),
				schemaText(u.GetOutput(), "  "),
			)
		}
		for _, s := range f.GetState() {
			fmt.Fprintf(w, "  state %s: %s\n", s.GetName(), schemaText(s.GetValue(), "  "))
		}
		for _, a := range f.GetAttributes() {
			fmt.Fprintf(w, "  attribute %s: %s\n", a.GetName(), a.GetType())
		}
	}
	for _, e := range d.GetEntities() {
		writeEntityType(w, d.GetName(), e)
	}
	for _, a := range d.GetActivities() {
		fmt.Fprintf(w, "\nactivity %s\n  retries: %s\n", a.GetName(), retriesText(a))
		if a.GetTimeout() != nil {
			fmt.Fprintf(w, "  timeout: %v an attempt\n", a.GetTimeout().AsDuration())
		}
		fmt.Fprintf(
			w, "  request: %s\n  result:  %s\n", schemaText(a.GetInput(), "  "), schemaText(a.GetOutput(), "  "),
		)
	}
	return nil
}

// retriesText says how often an activity is tried again, and when.
func retriesText(a *crusterv1.ActivityInfo) string {
	switch {
	case a.GetFirstPause() == nil:
		return strconv.FormatUint(uint64(a.GetRetries()), 10)
	case a.GetBackoff() == abi.BackoffConstant:
		return fmt.Sprintf("%d, each after %v", a.GetRetries(), a.GetFirstPause().AsDuration())
	default:
		return fmt.Sprintf(
			"%d, the first after %v, then after twice as long each, at most %v", a.GetRetries(),
			a.GetFirstPause().AsDuration(), abi.MaxBackoff,
		)
	}
}

func workflowNames(d *crusterv1.Deployment) string {
	var names []string
	for _, w := range d.GetWorkflows() {
		names = append(names, w.GetName())
	}
	return strings.Join(names, ", ")
}

// importNames names a module's imports from Cruster; the WASI imports of its language's runtime are
// the same for all.
func importNames(imports []string) string {
	var names []string
	for _, name := range imports {
		if name, ok := strings.CutPrefix(name, abi.ImportModule+"."); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func keyText(key string) string {
	switch key {
	case abi.KeyFromRequest:
		return "the SHA-256 of the request"
	case abi.KeyFromFunctionHashed:
		return "what the workflow's key function returns, hashed"
	case abi.KeyFromFunctionRaw:
		return "what the workflow's key function returns"
	default:
		return terminal.OneLine(key)
	}
}

// deferredName returns the name of a deferred, or the pattern of a dynamic one's names.
func deferredName(d *crusterv1.DeferredInfo) string {
	if d.GetDynamic() {
		return d.GetName() + "*"
	}
	return d.GetName()
}
