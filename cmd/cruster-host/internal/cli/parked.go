package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) entityParked() *cobra.Command {
	var after string
	var limit int
	cmd := &cobra.Command{
		Use:   "parked [TYPE|ENTITY]",
		Short: "List messages that could not be performed",
		Long: `List messages that were acknowledged and could not be performed: their operation
crashed, their code is missing, the workflow that they start was refused. They
are kept, with the reason, until they are retried with 'entity retry' or given
up with 'entity drop'. Name a deployment with a slash at its end, a type, or an
entity to see its messages alone.`,
		Example: "  cruster-host entity parked\n  cruster-host entity parked bank/Account\n  cruster-host entity " +
			"parked bank/Account/ada -o json",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				messages, next, err := a.listParked(cmd, c, args, after, limit)
				if err != nil {
					return err
				}
				a.noteEmptyNamespace(cmd.Context(), c, len(messages))
				return a.printParked(messages, next)
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "where the page before ended")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many messages at most")
	return cmd
}

// listParked reads up to limit messages, page by page.
func (a *app) listParked(
	cmd *cobra.Command, c *client.Client, args []string, after string, limit int,
) ([]*crusterv1.ParkedMessage, string, error) {
	var messages []*crusterv1.ParkedMessage
	req := &crusterv1.ListParkedMessagesRequest{Namespace: a.namespace, PageToken: after}
	if len(args) > 0 && strings.Count(args[0], "/") > 1 {
		req.Entity = args[0]
	} else if len(args) > 0 {
		req.Type = args[0]
	}
	for {
		req.PageSize = int32(min(limit-len(messages), pageLimit))
		resp, err := c.Entities().ListParkedMessages(cmd.Context(), req)
		if err != nil {
			return nil, "", err
		}
		messages, req.PageToken = append(messages, resp.GetMessages()...), resp.GetNextPageToken()
		if req.PageToken == "" || len(messages) >= limit {
			return messages, req.PageToken, nil
		}
	}
}

func (a *app) printParked(messages []*crusterv1.ParkedMessage, next string) error {
	views := []view.Parked{}
	for _, m := range messages {
		views = append(views, view.ParkedOf(m))
	}
	whole := map[string]any{"messages": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteParked(a.stdout, messages)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}

// parkedFlags name parked messages of an entity.
type parkedFlags struct {
	positions []uint
	all       bool
}

func (f *parkedFlags) add(cmd *cobra.Command) {
	cmd.Flags().UintSliceVar(
		&f.positions, "position", nil, "the position of a message, as 'entity parked' shows it; may be repeated",
	)
	cmd.Flags().BoolVar(&f.all, "all", false, "all parked messages of the entity, or of the type")
}

// places are the positions that the flags name; none if they name all messages.
func (f *parkedFlags) places() (places []uint64, err error) {
	if f.all != (len(f.positions) == 0) {
		return nil, usage.Errorf("name messages with --position, or all of them with --all")
	}
	for _, position := range f.positions {
		places = append(places, uint64(position))
	}
	return places, nil
}

func (a *app) entityRetry() *cobra.Command {
	return a.unparkCommand("retried", &cobra.Command{
		Use:   "retry ENTITY|TYPE",
		Short: "Have parked messages performed, of an entity or of a type",
		Long: `Have parked messages of an entity performed, after the reason for which they
were parked is removed: push fixed code first. They keep their places before
messages that were sent after them and wait still. One that cannot be performed
is parked again. Name a type, or a deployment with a slash at its end, to have
those of all of its entities performed.`,
		Example: "  cruster-host entity retry bank/Account/ada --all\n  cruster-host entity retry bank/Account/ada " +
			"--position 17\n" +
			"  cruster-host entity retry bank/Account --all",
	}, func(ctx context.Context, c *client.Client, entity string, places []uint64) (int32, error) {
		req := &crusterv1.RetryParkedMessagesRequest{
			Namespace: a.namespace, Entity: entity, Positions: places, All: len(places) == 0,
		}
		resp, err := c.Entities().RetryParkedMessages(ctx, req)
		return resp.GetMessages(), err
	})
}

func (a *app) entityDrop() *cobra.Command {
	return a.unparkCommand("dropped", &cobra.Command{
		Use:   "drop ENTITY|TYPE",
		Short: "Give parked messages up for good, of an entity or of a type",
		Long: `Give parked messages of an entity up, for good: they are never performed. A
sender that repeats one under its request id is told that it was dropped. Name a
type, or a deployment with a slash at its end, to give those of all of its
entities up.`,
		Example: "  cruster-host entity drop bank/Account/ada --position 17\n  cruster-host entity drop bank/Account --all",
	}, func(ctx context.Context, c *client.Client, entity string, places []uint64) (int32, error) {
		req := &crusterv1.DropParkedMessagesRequest{
			Namespace: a.namespace, Entity: entity, Positions: places, All: len(places) == 0,
		}
		resp, err := c.Entities().DropParkedMessages(ctx, req)
		return resp.GetMessages(), err
	})
}

// unpark does something to parked messages of an entity: the messages at some places, or all if
// there are none.
type unpark func(ctx context.Context, c *client.Client, entity string, places []uint64) (int32, error)

// unparkCommand completes a command that does something to parked messages.
func (a *app) unparkCommand(done string, cmd *cobra.Command, do unpark) *cobra.Command {
	var f parkedFlags
	cmd.Args = cobra.ExactArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		places, err := f.places()
		if err != nil {
			return err
		}
		ofType := strings.Count(args[0], "/") == 1
		if ofType && len(places) > 0 {
			return usage.Errorf("%q names a type: positions are those of an entity", args[0])
		}
		return a.withClient(func(c *client.Client) error {
			var n int32
			var err error
			if ofType {
				n, err = a.unparkType(cmd, c, args[0], do)
			} else {
				n, err = do(cmd.Context(), c, args[0], places)
			}
			if err != nil {
				return err
			}
			return a.printUnparked(view.Unparked{Done: done, Entity: args[0], Messages: n})
		})
	}
	f.add(cmd)
	return cmd
}

// unparkType does something to the messages of a type that are parked by now, entity by entity.
func (a *app) unparkType(cmd *cobra.Command, c *client.Client, entityType string, do unpark) (total int32, err error) {
	for after, more := "", true; more; more = after != "" {
		var messages []*crusterv1.ParkedMessage
		if messages, after, err = a.listParked(cmd, c, []string{entityType}, after, pageLimit); err != nil {
			return total, err
		}
		for len(messages) > 0 {
			entity, places := messages[0].GetEntity(), []uint64(nil)
			for len(messages) > 0 && messages[0].GetEntity() == entity {
				places, messages = append(places, messages[0].GetPosition()), messages[1:]
			}
			n, err := do(cmd.Context(), c, entity, places)
			if err != nil {
				return total, err
			}
			total += n
		}
	}
	return total, nil
}

func (a *app) printUnparked(v view.Unparked) error {
	return a.emit(v, func() error { return view.WriteUnparked(a.stdout, v) })
}
