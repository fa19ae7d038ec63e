package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
	"github.com/cruster/cruster/cmd/cruster-host/internal/view"
)

func (a *app) entityCommand() *cobra.Command {
	return group(
		"entity",
		"Call entities and look at their states",
		`Call entities and look at their states. An entity is named DEPLOYMENT/TYPE/ID;
it is there from its first operation on.`,
		`  cruster-host entity call bank/Account/ada deposit --input 500
  cruster-host entity state bank/Account/ada`,
		a.entityCall(),
		a.entitySend(),
		a.entityState(),
		a.entityList(),
		a.entityDestroy(),
		a.entityLocks(),
		a.entityUnlock(),
		a.entityParked(),
		a.entityRetry(),
		a.entityDrop(),
	)
}

// operationFlags are the flags of commands that perform an operation.
type operationFlags struct {
	input     valueFlags
	requestID requestID
}

func (f *operationFlags) add(cmd *cobra.Command) {
	f.input.add(cmd, "input", "the input", notNeeded)
	f.requestID.add(cmd, "are performed once, and answered the same")
}

// operation is the request of the command line.
func (a *app) operation(cmd *cobra.Command, f *operationFlags, args []string) (*crusterv1.Operation, error) {
	input, err := a.value(cmd, &f.input)
	if err != nil {
		return nil, err
	}
	return &crusterv1.Operation{
		Namespace: a.namespace, Entity: args[0], Name: args[1], Input: input, RequestId: f.requestID.id(),
	}, nil
}

func (a *app) entityCall() *cobra.Command {
	var f operationFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "call ENTITY OPERATION",
		Short: "Perform an operation and print its result",
		Long: `Perform an operation of an entity and print its result. What it changed is
durable by then. With --request-id the command may be repeated after a lost
answer. One whose --timeout passes may still be performed.`,
		Example: `  cruster-host entity call bank/Account/ada deposit --input 500 --timeout 1m
  cruster-host entity call bank/Account/ada balance`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.operation(cmd, &f, args)
			if err != nil {
				return err
			}
			ctx, cancel := bounded(cmd.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *client.Client) error {
				var resp *crusterv1.CallEntityResponse
				err := a.explaining(ctx, a.lookAtLock(c, args[0]), func() (err error) {
					resp, err = c.Entities().CallEntity(
						ctx, &crusterv1.CallEntityRequest{Operation: o, Encoding: jsonForm},
					)
					return err
				})
				if err != nil {
					return err
				}
				if resp.GetError() != nil {
					return rpcerror.FromProto(resp.GetError())
				}
				v := view.OutcomeOf(args[0], args[1], resp.GetResult())
				return a.emit(v, func() error { return view.WriteOutcome(a.stdout, v) })
			})
		},
	}
	f.add(cmd)
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the answer; 0 means as long as it takes")
	return cmd
}

func (a *app) entitySend() *cobra.Command {
	var f operationFlags
	cmd := &cobra.Command{
		Use:   "send ENTITY OPERATION",
		Short: "Have an operation performed without waiting for it",
		Long: `Have an operation of an entity performed without waiting for it. The command
returns when the message is durable.`,
		Example: "  cruster-host entity send bank/Account/ada deposit --input 500",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.operation(cmd, &f, args)
			if err != nil {
				return err
			}
			return a.withClient(func(c *client.Client) error {
				_, err = c.Entities().SendToEntity(cmd.Context(), &crusterv1.SendToEntityRequest{Operation: o})
				if err != nil {
					return err
				}
				return a.entityDone(view.EntityDone{Done: "sent", Entity: args[0], Operation: args[1]}, "sent")
			})
		},
	}
	f.add(cmd)
	return cmd
}

func (a *app) entityState() *cobra.Command {
	return &cobra.Command{
		Use:   "state ENTITY",
		Short: "Show the state of an entity",
		Long: `Show the state of an entity: what all operations that were answered before have
left.`,
		Example: "  cruster-host entity state bank/Account/ada -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				resp, err := c.Entities().GetEntity(cmd.Context(), &crusterv1.GetEntityRequest{
					Namespace: a.namespace, Entity: args[0], Encoding: jsonForm,
				})
				if err != nil {
					return err
				}
				return a.emit(view.EntityWithState(resp), func() error {
					return view.WriteEntity(a.stdout, resp)
				})
			})
		},
	}
}

func (a *app) entityList() *cobra.Command {
	var entityType, after string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List entities that have a state",
		Long: `List entities that have a state, by type and id. --type takes DEPLOYMENT/TYPE,
or DEPLOYMENT/ for all types of a deployment. A type that is neither deployed
nor has entities is an error.`,
		Example: "  cruster-host entity list --type bank/Account",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usage.Errorf("--limit is %d, not 1 or more", limit)
			}
			return a.withClient(func(c *client.Client) error {
				entities, next, err := a.listEntities(
					cmd, c, &crusterv1.ListEntitiesRequest{Namespace: a.namespace, Type: entityType, PageToken: after},
					limit,
				)
				if err != nil {
					return err
				}
				a.noteEmptyNamespace(cmd.Context(), c, len(entities))
				return a.printEntities(entities, next)
			})
		},
	}
	cmd.Flags().StringVar(&entityType, "type", "", "only entities of this type or deployment")
	cmd.Flags().StringVar(&after, "after", "", "where the page before ended")
	cmd.Flags().IntVar(&limit, "limit", 100, "how many entities at most")
	return cmd
}

// listEntities reads up to limit entities, page by page.
func (a *app) listEntities(
	cmd *cobra.Command, c *client.Client, req *crusterv1.ListEntitiesRequest, limit int,
) ([]*crusterv1.Entity, string, error) {
	var entities []*crusterv1.Entity
	for {
		req.PageSize = int32(min(limit-len(entities), pageLimit))
		resp, err := c.Entities().ListEntities(cmd.Context(), req)
		if err != nil {
			return nil, "", err
		}
		entities, req.PageToken = append(entities, resp.GetEntities()...), resp.GetNextPageToken()
		if req.PageToken == "" || len(entities) >= limit {
			return entities, req.PageToken, nil
		}
	}
}

func (a *app) printEntities(entities []*crusterv1.Entity, next string) error {
	views := []view.Entity{}
	for _, e := range entities {
		views = append(views, view.EntityOf(e))
	}
	whole := map[string]any{"entities": views, "next": next}
	return emitAll(a, views, whole, func() error {
		err := view.WriteEntities(a.stdout, entities)
		if next != "" {
			fmt.Fprintf(a.stderr, "more: add --after %s\n", next)
		}
		return err
	})
}

func (a *app) entityDestroy() *cobra.Command {
	var request requestID
	cmd := &cobra.Command{
		Use:   "destroy ENTITY",
		Short: "Delete the state of an entity",
		Long: `Delete the state of an entity. Operations that were called before are performed
first; none of its code runs for it. A later operation makes another entity of
the same name.`,
		Example: "  cruster-host entity destroy bank/Account/ada",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withClient(func(c *client.Client) error {
				_, err := c.Entities().DestroyEntity(cmd.Context(), &crusterv1.DestroyEntityRequest{
					Namespace: a.namespace, Entity: args[0], RequestId: request.id(),
				})
				if err != nil {
					return err
				}
				return a.entityDone(view.EntityDone{Done: "destroyed", Entity: args[0]}, "destroyed")
			})
		},
	}
	request.add(cmd, "are performed once")
	return cmd
}

// entityDone prints that something was done to an entity; text says it to people.
func (a *app) entityDone(v view.EntityDone, text string) error {
	return a.emit(v, func() error { return view.WriteEntityDone(a.stdout, v, text) })
}
