package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) entityLocks() *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "locks",
		Short: "List entities that are locked, and who waits for them",
		Long: `List entities that executions have locked for a critical section: who has each
lock, since when, and who waits for it.`,
		Example: "  cruster-host entity locks\n  cruster-host entity locks -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				locks, next, err := a.listLocks(cmd, c, after, limit)
				if err != nil {
					return err
				}
				a.noteEmptyNamespace(cmd.Context(), c, len(locks))
				return a.printLocks(locks, next)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "where the page before ended")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many locks at most")
	return cmd
}

// listLocks reads up to limit locks, page by page.
func (a *app) listLocks(
	cmd *cobra.Command, c *client.Client, after string, limit int,
) ([]*crusterv1.EntityLock, string, error) {
	var locks []*crusterv1.EntityLock
	req := &crusterv1.ListEntityLocksRequest{Namespace: a.namespace, PageToken: after}
	for {
		req.PageSize = int32(min(limit-len(locks), pageLimit))
		resp, err := c.Entities().ListEntityLocks(cmd.Context(), req)
		if err != nil {
			return nil, "", err
		}
		locks, req.PageToken = append(locks, resp.GetLocks()...), resp.GetNextPageToken()
		if req.PageToken == "" || len(locks) >= limit {
			return locks, req.PageToken, nil
		}
	}
}

func (a *app) printLocks(locks []*crusterv1.EntityLock, next string) error {
	views := []view.Lock{}
	for _, l := range locks {
		views = append(views, view.LockOf(l))
	}
	whole := map[string]any{"locks": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteLocks(a.stdout, locks)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}

func (a *app) entityUnlock() *cobra.Command {
	return &cobra.Command{
		Use:   "unlock ENTITY",
		Short: "Take the lock of an entity away from its holder",
		Long: `Take the lock of an entity away from the execution that has it, for good. Others
go on with the entity, in the middle of what its holder does: the holder's next
call of the entity fails. A lock never outlives its execution, so that
'workflow interrupt' and 'workflow fail' are the better way in most cases.`,
		Example: "  cruster-host entity unlock bank/Account/ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Entities().UnlockEntity(cmd.Context(), &crusterv1.UnlockEntityRequest{
					Namespace: a.namespace, Entity: args[0],
				})
				if err != nil {
					return err
				}
				v := view.Unlocked{Entity: args[0], Holder: resp.GetHolder()}
				return a.emit(v, func() error { return view.WriteUnlocked(a.stdout, v) })
			})
		},
	}
}
