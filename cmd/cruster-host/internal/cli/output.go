package cli

import (
	"encoding/json"
	"errors"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

// emit prints one thing: as JSON, or as the text that table writes.
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

// showMisfit prints an error with a misfit as JSON, if that is wanted, and returns it.
func (a *app) showMisfit(err error) error {
	var misfit *client.Misfit
	if a.output == "table" || !errors.As(err, &misfit) {
		return err
	}
	if failed := a.emit(view.MisfitOf(misfit), nil); failed != nil {
		return failed
	}
	return err
}

// emitAll prints many things: jsonl has one a line, json has whole, which holds them all.
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

// done prints that something was done; text says it to people.
func (a *app) done(v view.Done, text string) error {
	return a.emit(v, func() error { return view.WriteDone(a.stdout, v, text) })
}
