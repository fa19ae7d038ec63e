package table

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/cruster/cruster/abi"
)

// Case is one workflow, started once, and its expected end.
type Case struct {
	Name string `json:"name"`
	// Why is a comment.
	Why      string `json:"why,omitempty"`
	Workflow string `json:"workflow"`
	// Needs are other workflows that the case needs.
	Needs []string `json:"needs,omitempty"`
	// Only names the one language in which the case makes sense.
	Only  string `json:"only,omitempty"`
	Input Value  `json:"input,omitzero"`
	// Steps are the steps of a client while the workflow runs; Then are its steps after the end.
	Steps []Step `json:"steps,omitempty"`
	Then  []Step `json:"then,omitempty"`
	// Refused is the code with which the start is refused. Then nothing else is checked.
	Refused abi.Code `json:"refused,omitempty"`
	// State is how the execution ends; empty means completed.
	State string `json:"state,omitempty"`
	// Want is the result of a completed execution.
	Want *Value `json:"want,omitempty"`
	// Error is the error in every other state.
	Error *Error `json:"error,omitempty"`
	// Journal lists the delivered entries, in order, if the order is certain; nil if it is not. A line is "activity
	// square", "activity count key a", "sleep"; an error adds its code, and a failed attempt that is repeated "failed".
	Journal []string `json:"journal,omitzero"`
	// Last are parts of the message of the last delivery, an error, by language; "any" is every language.
	Last map[string][]string `json:"last,omitempty"`
	// Logs are the lines of the log, in any order.
	Logs []string `json:"logs,omitempty"`
	// ByRun says that the result and the journal differ from run to run.
	ByRun bool `json:"by_run,omitempty"`
	// Chancy says that the journal may differ from run to run.
	Chancy bool `json:"chancy,omitempty"`
}

// Error is the expected error of an execution.
type Error struct {
	Code abi.Code `json:"code"`
	// Text is a part of the message; Words are further parts, by language.
	Text    Value             `json:"text,omitzero"`
	Words   map[string]string `json:"words,omitempty"`
	Type    *string           `json:"type,omitempty"`
	Details *Value            `json:"details,omitempty"`
}

// Step is one thing that a client does. It first waits, if it names an event.
type Step struct {
	// Op is the op that the execution must wait for, such as "deferred gate".
	Op string `json:"op,omitempty"`
	// Delivered is how many deliveries the execution must have seen, and Pending how many ops it must wait for.
	Delivered *int `json:"delivered,omitempty"`
	Pending   int  `json:"pending,omitempty"`
	// Alone are the kinds of all ops that the execution must then wait for.
	Alone []string `json:"alone,omitempty"`

	// One of these is done.
	Resolve   string `json:"resolve,omitempty"`
	Reject    string `json:"reject,omitempty"`
	Interrupt string `json:"interrupt,omitempty"`
	Signal    string `json:"signal,omitempty"`
	Query     string `json:"query,omitempty"`
	// Update sends an update and waits for its answer. With Later it only sends it, and looks for the answer when the
	// execution has ended.
	Update string `json:"update,omitempty"`
	Later  bool   `json:"later,omitempty"`
	// Published is all that can be seen of the execution.
	Published *Published `json:"published,omitempty"`
	// Open opens a gate for the activity "pass".
	Open string `json:"open,omitempty"`
	// Start starts another workflow, with Value as its request, and waits for its end.
	Start string `json:"start,omitempty"`
	// Call calls an entity, with Value as the input: "Tally/id add". Send sends it a message.
	Call string `json:"call,omitempty"`
	Send string `json:"send,omitempty"`

	// Value is the value of a deferred, a signal or an update, the question of a query,
	// a request or an input.
	Value Value `json:"value,omitzero"`
	// Answer is the answer to a query or an update.
	Answer Value `json:"answer,omitzero"`
	// Error is the error that a deferred is rejected with.
	Error *Rejection `json:"error,omitempty"`
	// Refused is the code with which the host must refuse; May is one with which it may.
	Refused abi.Code `json:"refused,omitempty"`
	May     abi.Code `json:"may,omitempty"`
	// OneOf are the results that the started workflow or the call may have.
	OneOf []Value `json:"one_of,omitempty"`
}

// Published are the published values of an execution.
type Published struct {
	State map[string]Value `json:"state,omitempty"`
	// Attributes are texts, numbers and bools; a time is a text of RFC 3339.
	Attributes map[string]any `json:"attributes,omitempty"`
	Progress   *Progress      `json:"progress,omitempty"`
}

// Progress is how far an execution is.
type Progress struct {
	Done  uint64 `json:"done"`
	Total uint64 `json:"total"`
	Note  string `json:"note,omitempty"`
}

// Attribute is the value of an attribute as the table has it.
func Attribute(a abi.Attribute) any {
	switch a.Type {
	case abi.AttributeText:
		return a.Text
	case abi.AttributeBool:
		return a.Number == 1
	case abi.AttributeTime:
		return time.UnixMicro(int64(a.Number)).UTC().Format(time.RFC3339Nano)
	}
	return a.Number
}

// Waits tells whether something must have happened before the step.
func (s *Step) Waits() bool { return s.Op != "" || s.Delivered != nil || s.Pending > 0 }

// Awaits tells whether the step ends only when the workflow has answered.
func (s *Step) Awaits() bool { return s.Update != "" && !s.Later }

// Operation is the target of a step: an entity of a deployment, and its operation.
func (s *Step) Operation(deployment string) (entity, operation string) {
	entity, operation, _ = strings.Cut(s.Call+s.Send, " ")
	return deployment + "/" + entity, operation
}

// Rejection is the error that a client rejects a deferred with.
type Rejection struct {
	Type    string `json:"type"`
	Message string `json:"message,omitempty"`
	Details *Value `json:"details,omitempty"`
}

// ABI is the rejection as the host takes it.
func (r *Rejection) ABI(code abi.Code) *abi.Error {
	e := &abi.Error{Code: code, Type: r.Type, Message: r.Message}
	if r.Details != nil {
		e.Details = r.Details.Encode(Places{})
	}
	return e
}

// Key is the raw key of the case's execution: the same in every variant.
func (c *Case) Key() string { return strings.ReplaceAll(c.Name, " ", "-") }

// LastMessage are the parts that the message of the last delivery must have.
func (c *Case) LastMessage(language string) []string {
	return append(append([]string{}, c.Last["any"]...), c.Last[language]...)
}

//go:embed cases/*.json
var files embed.FS

// Load reads the table. It panics if a file is malformed: it is part of the binary.
func Load() []Case {
	names, err := fs.Glob(files, "cases/*.json")
	if err != nil {
		panic(err)
	}
	var all []Case
	for _, name := range names {
		cases, err := read(name)
		if err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		all = append(all, cases...)
	}
	return all
}

func read(name string) ([]Case, error) {
	text, err := files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	var cases []Case
	return cases, dec.Decode(&cases)
}
