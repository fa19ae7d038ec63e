package cli

import (
	"github.com/spf13/cobra"

	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) workflowFork() *cobra.Command {
	var at uint64
	var to, key string
	cmd := &cobra.Command{
		Use:   "fork EXECUTION",
		Short: "Start a new run from a beginning of a journal",
		Long: `Start a new run from a beginning of the journal of an execution, in whatever
state that is. What happened up to the entry --at is taken over, not repeated;
from there on the fork does its own work. The original stays as it is.

'workflow history' shows the sequence numbers of the entries.`,
		Example: `  cruster-host workflow history orders/ProcessOrder/order-42
  cruster-host workflow fork orders/ProcessOrder/order-42 --at 7 --to latest \
    --key order-42-again`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("at") {
				return usage.Errorf("--at is missing: which entry of the journal is the last that the fork takes " +
					"over? 0 takes over none")
			}
			return a.withClient(func(c *client.Client) error {
				fork, err := c.Fork(cmd.Context(), args[0], client.ForkRequest{At: at, To: to, Key: key})
				if err != nil {
					return err
				}
				return a.emit(view.ExecutionOf(fork), func() error {
					return view.WriteFork(a.stdout, fork, a.addrFlag())
				})
			})
		},
	}
	cmd.Flags().Uint64Var(&at, "at", 0, "sequence number of the last entry that the fork takes over; 0 takes over none")
	cmd.Flags().StringVar(
		&to, "to", "", "the module: latest, or a digest or the beginning of one (default: that of the original)",
	)
	cmd.Flags().StringVar(&key, "key", "", "key of the fork, used as it is (default: one made of the original's)")
	return cmd
}
