package cli

import (
	"encoding/json"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

// The JSON output of the verbs. It is a contract with scripts: fields are added,
// never renamed. Payloads stand in it as the JSON they are.

type errorView struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Hint      string `json:"hint,omitempty"`
	Type      string `json:"type,omitempty"`
	Retryable bool   `json:"retryable"`
}

func viewError(e *crusterv1.Error) *errorView {
	if e == nil {
		return nil
	}
	return &errorView{Code: e.GetCode(), Message: e.GetMessage(), Hint: e.GetHint(), Type: e.GetType(), Retryable: e.GetRetryable()}
}

type executionView struct {
	Name            string          `json:"name"`
	Namespace       string          `json:"namespace"`
	Workflow        string          `json:"workflow"`
	Key             string          `json:"key"`
	ID              string          `json:"id"`
	Digest          string          `json:"digest"`
	State           client.State    `json:"state"`
	Existed         *bool           `json:"existed,omitempty"`
	Result          json.RawMessage `json:"result,omitempty"`
	Error           *errorView      `json:"error,omitempty"`
	CreatedAt       *time.Time      `json:"created_at,omitempty"`
	FinishedAt      *time.Time      `json:"finished_at,omitempty"`
	InterruptedAt   *time.Time      `json:"interrupt_requested_at,omitempty"`
	InterruptReason string          `json:"interrupt_reason,omitempty"`
	ParentID        string          `json:"parent_id,omitempty"`
}

func viewExecution(e *crusterv1.Execution) executionView {
	return executionView{
		Name:            e.GetName(),
		Namespace:       e.GetNamespace(),
		Workflow:        e.GetWorkflow(),
		Key:             e.GetKey(),
		ID:              e.GetId(),
		Digest:          e.GetDigest(),
		State:           client.StateOf(e.GetState()),
		Result:          viewPayload(e.GetResult()),
		Error:           viewError(e.GetError()),
		CreatedAt:       timeOf(e.GetCreatedAt()),
		FinishedAt:      timeOf(e.GetFinishedAt()),
		InterruptedAt:   timeOf(e.GetInterruption().GetAt()),
		InterruptReason: e.GetInterruption().GetReason(),
		ParentID:        e.GetParentId(),
	}
}

// viewPayload takes a payload, which was asked for as JSON, as it is.
func viewPayload(p *crusterv1.Payload) json.RawMessage {
	if p.GetJson() == "" {
		return nil
	}
	return json.RawMessage(p.GetJson())
}

type pendingView struct {
	Number    uint32     `json:"number"`
	Kind      string     `json:"kind"`
	Name      string     `json:"name,omitempty"`
	Key       string     `json:"key,omitempty"`
	Since     *time.Time `json:"since,omitempty"`
	DueAt     *time.Time `json:"due_at,omitempty"`
	Attempt   uint32     `json:"attempt,omitempty"`
	LastError *errorView `json:"last_error,omitempty"`
}

type deferredView struct {
	Name  string          `json:"name"`
	At    *time.Time      `json:"at,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Error *errorView      `json:"error,omitempty"`
}

type descriptionView struct {
	executionView
	Input     json.RawMessage `json:"input,omitempty"`
	Entries   uint64          `json:"entries"`
	Resident  bool            `json:"resident"`
	Pending   []pendingView   `json:"pending"`
	Deferreds []deferredView  `json:"deferreds"`
}

func viewDescription(d *crusterv1.DescribeResponse) descriptionView {
	v := descriptionView{
		executionView: viewExecution(d.GetExecution()),
		Input:         viewPayload(d.GetInput()),
		Entries:       d.GetEntries(),
		Resident:      d.GetResident(),
		Pending:       []pendingView{},
		Deferreds:     []deferredView{},
	}
	for _, p := range d.GetPending() {
		v.Pending = append(v.Pending, pendingView{
			Number: p.GetNumber(), Kind: p.GetKind(), Name: p.GetName(), Key: p.GetKey(), Since: timeOf(p.GetSince()),
			DueAt: timeOf(p.GetDueAt()), Attempt: p.GetAttempt(), LastError: viewError(p.GetLastError()),
		})
	}
	for _, s := range d.GetDeferreds() {
		v.Deferreds = append(v.Deferreds, deferredView{Name: s.GetName(), At: timeOf(s.GetAt()), Value: viewPayload(s.GetValue()), Error: viewError(s.GetError())})
	}
	return v
}

type entryView struct {
	Seq      uint64          `json:"seq"`
	Turn     uint64          `json:"turn"`
	Kind     string          `json:"kind"`
	At       *time.Time      `json:"at,omitempty"`
	Op       uint32          `json:"op"`
	OpKind   string          `json:"op_kind"`
	Name     string          `json:"name,omitempty"`
	Key      string          `json:"key,omitempty"`
	Attempts uint32          `json:"attempts,omitempty"`
	NextAt   *time.Time      `json:"next_at,omitempty"`
	Value    json.RawMessage `json:"value,omitempty"`
	Error    *errorView      `json:"error,omitempty"`
}

func viewEntry(e *crusterv1.HistoryEntry) entryView {
	return entryView{
		Seq: e.GetSeq(), Turn: e.GetTurn(), Kind: e.GetKind(), At: timeOf(e.GetAt()), Op: e.GetOp(), OpKind: e.GetOpKind(), Name: e.GetName(),
		Key: e.GetKey(), Attempts: e.GetAttempts(), NextAt: timeOf(e.GetNextAt()), Value: viewPayload(e.GetValue()), Error: viewError(e.GetError()),
	}
}

type workflowView struct {
	Name   string      `json:"name"`
	Key    string      `json:"key"`
	Input  *schemaView `json:"input"`
	Output *schemaView `json:"output"`
}

type activityView struct {
	Name    string      `json:"name"`
	Input   *schemaView `json:"input"`
	Output  *schemaView `json:"output"`
	Retries uint32      `json:"retries"`
	Timeout string      `json:"timeout,omitempty"`
}

type schemaView struct {
	Type     string      `json:"type"`
	Bits     int32       `json:"bits,omitempty"`
	Nullable bool        `json:"nullable,omitempty"`
	Elem     *schemaView `json:"elem,omitempty"`
	Fields   []fieldView `json:"fields,omitempty"`
}

type fieldView struct {
	Name     string      `json:"name"`
	Required bool        `json:"required"`
	Schema   *schemaView `json:"schema"`
}

func viewSchema(s *crusterv1.Schema) *schemaView {
	if s == nil {
		return nil
	}
	v := &schemaView{Type: s.GetType(), Bits: s.GetBits(), Nullable: s.GetNullable(), Elem: viewSchema(s.GetElem())}
	for _, f := range s.GetFields() {
		v.Fields = append(v.Fields, fieldView{Name: f.GetName(), Required: f.GetRequired(), Schema: viewSchema(f.GetSchema())})
	}
	return v
}

type deploymentView struct {
	Namespace  string         `json:"namespace"`
	Name       string         `json:"name"`
	Digest     string         `json:"digest"`
	Version    int64          `json:"version"`
	UpdatedAt  *time.Time     `json:"updated_at,omitempty"`
	ConfigKeys []string       `json:"config_keys,omitempty"`
	AllowHTTP  []string       `json:"allow_http,omitempty"`
	Imports    []string       `json:"imports,omitempty"`
	SDK        string         `json:"sdk,omitempty"`
	Workflows  []workflowView `json:"workflows"`
	Activities []activityView `json:"activities"`
}

func viewDeployment(d *crusterv1.Deployment) deploymentView {
	v := deploymentView{
		Namespace: d.GetNamespace(), Name: d.GetName(), Digest: d.GetDigest(), Version: d.GetVersion(), UpdatedAt: timeOf(d.GetUpdatedAt()),
		ConfigKeys: d.GetConfigKeys(), AllowHTTP: d.GetAllowHttp(), Imports: d.GetImports(), SDK: d.GetSdk(),
		Workflows: []workflowView{}, Activities: []activityView{},
	}
	for _, w := range d.GetWorkflows() {
		v.Workflows = append(v.Workflows, workflowView{Name: w.GetName(), Key: w.GetKey(), Input: viewSchema(w.GetInput()), Output: viewSchema(w.GetOutput())})
	}
	for _, act := range d.GetActivities() {
		view := activityView{Name: act.GetName(), Input: viewSchema(act.GetInput()), Output: viewSchema(act.GetOutput()), Retries: act.GetRetries()}
		if act.GetTimeout() != nil {
			view.Timeout = act.GetTimeout().AsDuration().String()
		}
		v.Activities = append(v.Activities, view)
	}
	return v
}
