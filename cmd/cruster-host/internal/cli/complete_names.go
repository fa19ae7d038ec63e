package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
)

// following is the completion of an argument behind others.
type following func(before []string) completion

// always completes an argument independent of earlier ones.
func always(complete completion) following { return func([]string) completion { return complete } }

// inOrder completes the arguments of a command, one by one; nil ones cannot be completed.
func (a *app) inOrder(each ...following) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= len(each) || each[len(args)] == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return a.asking(each[len(args)](args))(cmd, args, word)
	}
}

// completeLocal completes arguments that need no host: modules and codes.
func completeLocal(root *cobra.Command) {
	modules := cobra.FixedCompletions([]string{"wasm"}, cobra.ShellCompDirectiveFilterFileExt)
	for path, complete := range map[string]cobra.CompletionFunc{
		"errors": completeCode, "module check": modules, "module push": modules,
	} {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = func(
				cmd *cobra.Command, args []string, word string,
			) ([]string, cobra.ShellCompDirective) {
				if len(args) > 0 {
					return nil, cobra.ShellCompDirectiveNoFileComp
				}
				return complete(cmd, args, word)
			}
		}
	}
}

func completeCode(_ *cobra.Command, _ []string, word string) (codes []string, _ cobra.ShellCompDirective) {
	for _, c := range abi.Codes {
		if strings.HasPrefix(string(c.Code), word) {
			codes = append(codes, string(c.Code))
		}
	}
	return codes, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeEntityType(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	return a.deployed(ctx, c, func(d *crusterv1.Deployment) (names []string) {
		for _, e := range d.GetEntities() {
			names = append(names, d.GetName()+"/"+e.GetName())
		}
		return names
	})
}

// completeEntity offers types until one is typed, then the first of its entities that have a state.
func (a *app) completeEntity(
	ctx context.Context, c *client.Client, word string,
) ([]string, cobra.ShellCompDirective, error) {
	parts := strings.SplitN(word, "/", 3)
	if len(parts) < 3 {
		types, _, err := a.completeEntityType(ctx, c, word)
		for i := range types {
			types[i] += "/"
		}
		return types, cobra.ShellCompDirectiveNoSpace, err
	}
	resp, err := c.Entities().ListEntities(ctx, &crusterv1.ListEntitiesRequest{
		Namespace: a.namespace, Type: parts[0] + "/" + parts[1], PageSize: completeLimit,
	})
	return namesIn(resp.GetEntities(), (*crusterv1.Entity).GetName), cobra.ShellCompDirectiveDefault, err
}

// completeLocked offers entities that are locked.
func (a *app) completeLocked(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	resp, err := c.Entities().ListEntityLocks(ctx, &crusterv1.ListEntityLocksRequest{
		Namespace: a.namespace, PageSize: completeLimit,
	})
	return namesIn(resp.GetLocks(), (*crusterv1.EntityLock).GetEntity), cobra.ShellCompDirectiveDefault, err
}

// completeParked offers entities that have parked messages.
func (a *app) completeParked(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	resp, err := c.Entities().ListParkedMessages(ctx, &crusterv1.ListParkedMessagesRequest{
		Namespace: a.namespace, PageSize: completeLimit,
	})
	return slices.Compact(namesIn(
		resp.GetMessages(), (*crusterv1.ParkedMessage).GetEntity,
	)), cobra.ShellCompDirectiveDefault, err
}

// completeOperation offers the operations of the entity that is typed.
func (a *app) completeOperation(before []string) completion {
	return func(ctx context.Context, c *client.Client, _ string) ([]string, cobra.ShellCompDirective, error) {
		return a.deployed(ctx, c, func(d *crusterv1.Deployment) (names []string) {
			for _, e := range d.GetEntities() {
				if strings.HasPrefix(before[0], d.GetName()+"/"+e.GetName()+"/") {
					names = append(names, namesIn(e.GetOperations(), (*crusterv1.OperationInfo).GetName)...)
				}
			}
			return names
		})
	}
}

// completeSchedule offers the first schedules of the namespace.
func (a *app) completeSchedule(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	resp, err := c.Schedules().ListSchedules(
		ctx, &crusterv1.ListSchedulesRequest{Namespace: a.namespace, PageSize: pageLimit},
	)
	return namesIn(resp.GetSchedules(), (*crusterv1.Schedule).GetName), cobra.ShellCompDirectiveDefault, err
}

// completeOwnSchedule leaves out schedules that modules declare, which change with the module.
func (a *app) completeOwnSchedule(
	ctx context.Context, c *client.Client, word string,
) ([]string, cobra.ShellCompDirective, error) {
	names, how, err := a.completeSchedule(ctx, c, word)
	return slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "/") }), how, err
}

// namesIn returns the names in a list.
func namesIn[T any](list []T, name func(T) string) []string {
	names := make([]string, len(list))
	for i, item := range list {
		names[i] = name(item)
	}
	return names
}
