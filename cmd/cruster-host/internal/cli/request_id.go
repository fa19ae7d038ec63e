package cli

import (
	"cmp"
	"crypto/rand"

	"github.com/spf13/cobra"
)

// A requestID is the flag --request-id of commands that change something.
type requestID struct{ given string }

// add adds the flag. same describes what becomes of requests with the same id.
func (r *requestID) add(cmd *cobra.Command, same string) {
	cmd.Flags().StringVar(
		&r.given, "request-id", "",
		"makes it safe to repeat the command: those with the same id "+same+" (default: a new one each time)",
	)
}

// id returns the value of the flag, or a random id: the client repeats unanswered requests that have an id.
func (r *requestID) id() string { return cmp.Or(r.given, rand.Text()) }
