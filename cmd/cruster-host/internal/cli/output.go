package cli

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

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

// wantedOutput is the form that a command line asks for, also if it was not read to its end because of a mistake.
func (a *app) wantedOutput(root *cobra.Command, args []string) string {
	if root.PersistentFlags().Changed("output") {
		return a.output
	}
	for i, arg := range args {
		switch {
		case arg == "--":
			return a.outputBeside(nil)
		case arg == "-o" || arg == "--output":
			return a.outputBeside(args[i+1:])
		case strings.HasPrefix(arg, "--output="):
			return strings.TrimPrefix(arg, "--output=")
		case strings.HasPrefix(arg, "-o"):
			return strings.TrimPrefix(strings.TrimPrefix(arg, "-o"), "=")
		}
	}
	return a.outputBeside(nil)
}

// outputBeside is the first word of a command line's rest, or else the form that the environment asks for.
func (a *app) outputBeside(rest []string) string {
	if len(rest) > 0 {
		return rest[0]
	}
	output, _ := a.lookupEnv("CRUSTER_OUTPUT")
	return output
}
