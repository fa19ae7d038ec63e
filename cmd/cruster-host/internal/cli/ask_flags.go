package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// askFlags are the flags of commands that ask an execution something and print the answer.
type askFlags struct {
	input   valueFlags
	timeout time.Duration
}

func (f *askFlags) add(cmd *cobra.Command) {
	f.input.add(cmd, "input", "the input", notNeeded)
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
}

// askWith has ask send the input that the flags give; nil if they give none.
func (a *app) askWith(
	cmd *cobra.Command, f *askFlags, ask func(ctx context.Context, c *client.Client, input *crusterv1.Payload) error,
) error {
	input, err := a.value(cmd, &f.input)
	if err != nil {
		return err
	}
	ctx, cancel := bounded(cmd.Context(), f.timeout)
	defer cancel()
	return a.withClient(func(c *client.Client) error { return ask(ctx, c, input) })
}
