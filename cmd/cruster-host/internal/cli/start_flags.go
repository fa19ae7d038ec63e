package cli

import (
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

// startFlags are the flags of execute and start.
type startFlags struct {
	input                   valueFlags
	key, rawKey, ifFinished string
	timeout                 time.Duration
}

func (f *startFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.input.add(cmd, "input", "the request", notNeeded)
	flags.StringVar(&f.key, "key", "", "idempotency key, hashed by the host, instead of the workflow's own")
	flags.StringVar(&f.rawKey, "raw-key", "", "idempotency key that is used as it is")
	flags.StringVar(
		&f.ifFinished, "if-finished", "return",
		"what to do with a finished run under the key: return, restart, restart-failed (unless it completed) or refuse",
	)
	flags.DurationVar(&f.timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
}

// startOptions makes the request of a start.
func (a *app) startOptions(f *startFlags, cmd *cobra.Command, workflow string) (*crusterv1.StartOptions, error) {
	if cmd.Flags().Changed("key") && cmd.Flags().Changed("raw-key") {
		return nil, usage.Errorf("--key and --raw-key exclude each other")
	}
	input, err := a.value(cmd, &f.input)
	if err != nil {
		return nil, err
	}
	start := &crusterv1.StartOptions{Namespace: a.namespace, Workflow: workflow, Input: input}
	if cmd.Flags().Changed("if-finished") {
		if start.IfFinished, err = parseIfFinished(f.ifFinished); err != nil {
			return nil, err
		}
	}
	switch {
	case cmd.Flags().Changed("key"):
		start.Idempotency = &crusterv1.StartOptions_Key{Key: f.key}
	case cmd.Flags().Changed("raw-key"):
		start.Idempotency = &crusterv1.StartOptions_RawKey{RawKey: f.rawKey}
	}
	return start, nil
}
