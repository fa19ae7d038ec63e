package view

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// Entity is the JSON of an entity.
type Entity struct {
	Name         string          `json:"name"`
	Namespace    string          `json:"namespace"`
	Type         string          `json:"type"`
	ID           string          `json:"id"`
	State        json.RawMessage `json:"state,omitempty"`
	StateVersion uint32          `json:"state_version"`
	CreatedAt    *time.Time      `json:"created_at,omitempty"`
	UpdatedAt    *time.Time      `json:"updated_at,omitempty"`
	// Parked counts its parked messages.
	Parked int32 `json:"parked,omitempty"`
}

// EntityOf is the shape of an entity in a list.
func EntityOf(e *crusterv1.Entity) Entity { return entityOf(e, nil) }

// EntityWithState is the shape of an entity with its state.
func EntityWithState(s *crusterv1.GetEntityResponse) Entity {
	v := entityOf(s.GetEntity(), s.GetState())
	v.Parked = s.GetParked()
	return v
}

func entityOf(e *crusterv1.Entity, state *crusterv1.Payload) Entity {
	return Entity{
		Name: e.GetName(), Namespace: e.GetNamespace(), Type: e.GetType(), ID: e.GetId(), State: payloadJSON(state),
		StateVersion: e.GetStateVersion(), CreatedAt: timeOf(e.GetCreateTime()), UpdatedAt: timeOf(e.GetUpdateTime()),
	}
}

// WriteEntity writes an entity with its state.
func WriteEntity(w io.Writer, s *crusterv1.GetEntityResponse) error {
	e := s.GetEntity()
	lines := []terminal.Line{
		{Name: "entity", Value: terminal.OneLine(e.GetName())},
		{Name: "version", Value: strconv.Itoa(int(e.GetStateVersion()))},
		{Name: "created", Value: timeText(e.GetCreateTime())},
		{Name: "updated", Value: timeText(e.GetUpdateTime())},
	}
	if n := s.GetParked(); n > 0 {
		lines = append(lines, terminal.Line{
			Name:  "parked",
			Value: fmt.Sprintf("%d messages; see 'cruster-host entity parked %s'", n, terminal.OneLine(e.GetName())),
		})
	}
	return terminal.Lines(w, append(lines, terminal.Line{Name: "state", Value: Pretty(payloadJSON(s.GetState()))})...)
}

// WriteEntities writes a list of entities.
func WriteEntities(w io.Writer, entities []*crusterv1.Entity) error {
	var rows [][]string
	for _, e := range entities {
		rows = append(rows, []string{
			e.GetName(), strconv.Itoa(int(e.GetStateVersion())), timeText(e.GetCreateTime()), timeText(
				e.GetUpdateTime(),
			),
		})
	}
	return terminal.Table(w, []string{"ENTITY", "VERSION", "CREATED", "UPDATED"}, rows)
}

// Outcome is the JSON of an operation's outcome.
type Outcome struct {
	Entity    string          `json:"entity"`
	Operation string          `json:"operation"`
	Result    json.RawMessage `json:"result"`
}

// OutcomeOf is the shape of a result.
func OutcomeOf(entity, operation string, result *crusterv1.Payload) Outcome {
	return Outcome{Entity: entity, Operation: operation, Result: payloadJSON(result)}
}

// WriteOutcome writes a result as it is.
func WriteOutcome(w io.Writer, v Outcome) error {
	_, err := fmt.Fprintln(w, Pretty(v.Result))
	return err
}

// EntityDone is the JSON of a command's effect on an entity.
type EntityDone struct {
	Done      string `json:"done"`
	Entity    string `json:"entity"`
	Operation string `json:"operation,omitempty"`
}

// WriteEntityDone writes the effect, in the words of text.
func WriteEntityDone(w io.Writer, v EntityDone, text string) error {
	target := v.Entity
	if v.Operation != "" {
		target += " " + v.Operation
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", text, terminal.OneLine(target))
	return err
}
