package cli

import (
	"encoding/json"
	"fmt"

	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// emit prints one thing: as JSON, or the way table does.
func (a *app) emit(v any, table func() error) error {
	switch a.output {
	case "json":
		return a.writeJSON(v, "  ")
	case "jsonl":
		return a.writeJSON(v, "")
	default:
		return table()
	}
}

// emitAll prints many things: jsonl has one a line, json has whole, which holds
// them all.
func emitAll[T any](a *app, items []T, whole any, table func() error) error {
	switch a.output {
	case "json":
		return a.writeJSON(whole, "  ")
	case "jsonl":
		for _, item := range items {
			if err := a.writeJSON(item, ""); err != nil {
				return err
			}
		}
		return nil
	default:
		return table()
	}
}

func (a *app) writeJSON(v any, indent string) error {
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// doneView is what was done to an execution, or to one of its deferreds.
type doneView struct {
	Deferred  string `json:"deferred,omitempty"`
	Done      string `json:"done"`
	Execution string `json:"execution"`
}

// done prints that something was done; text says it to people.
func (a *app) done(v doneView, text string) error {
	return a.emit(v, func() error {
		target := v.Execution
		if v.Deferred != "" {
			target += " " + v.Deferred
		}
		_, err := fmt.Fprintf(a.stdout, "%s: %s\n", text, terminal.OneLine(target))
		return err
	})
}
