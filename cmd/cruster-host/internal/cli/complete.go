package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/client"
)

const (
	// completeTimeout bounds what a shell waits for after the tab key.
	completeTimeout = time.Second
	// completeLimit is how many executions are offered.
	completeLimit = 100
)

// A completion asks the host for what a word could become. After an error
// there are no offers, and no message either: a line that is being typed is no place for it.
type completion func(ctx context.Context, c *client.Client, word string) ([]string, cobra.ShellCompDirective, error)

// completes has the shell complete the first argument of commands and the values of their
// flags, by asking the host.
func (a *app) completes(root *cobra.Command) {
	args := map[string]completion{"module describe": a.completeDeployment, "workflow execute": a.completeWorkflow, "workflow start": a.completeWorkflow}
	for _, verb := range strings.Fields("poll wait describe history follow signal query update state interrupt move fork") {
		args["workflow "+verb] = a.completeExecution("")
	}
	for _, verb := range strings.Fields("resume fail") {
		args["workflow "+verb] = a.completeExecution(client.Paused)
	}
	args["deferred resolve"], args["deferred reject"] = a.completeExecution(client.Running), a.completeExecution(client.Running)
	flags := map[string]map[string]completion{
		"module push": {"name": a.completeDeployment}, "module check": {"name": a.completeDeployment},
		"workflow list": {"workflow": a.completeWorkflow}, "workflow move": {"workflow": a.completeWorkflow},
	}
	for path, complete := range args {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = a.firstArgument(complete)
		}
	}
	for path, byFlag := range flags {
		for name, complete := range byFlag {
			if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
				_ = cmd.RegisterFlagCompletionFunc(name, a.asking(complete)) // a test knows that there is such a flag
			}
		}
	}
}

// firstArgument completes that argument alone.
func (a *app) firstArgument(complete completion) cobra.CompletionFunc {
	asking := a.asking(complete)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return asking(cmd, args, word)
	}
}

// asking asks the host that the command would ask, once and not for long.
func (a *app) asking(complete completion) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) (offers []string, directive cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		directive = cobra.ShellCompDirectiveNoFileComp
		if applyEnvironment(cmd.Flags(), a.lookupEnv) != nil {
			return nil, directive
		}
		a.retryFor = 0
		err := a.withClient(func(c *client.Client) error {
			found, how, err := complete(ctx, c, word)
			for _, offer := range found {
				if strings.HasPrefix(offer, word) {
					offers = append(offers, offer)
				}
			}
			directive |= how
			return err
		})
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offers, directive
	}
}

func (a *app) completeDeployment(ctx context.Context, c *client.Client, _ string) ([]string, cobra.ShellCompDirective, error) {
	return a.deployed(ctx, c, func(d *crusterv1.Deployment) []string { return []string{d.GetName()} })
}

func (a *app) completeWorkflow(ctx context.Context, c *client.Client, _ string) ([]string, cobra.ShellCompDirective, error) {
	return a.deployed(ctx, c, func(d *crusterv1.Deployment) (names []string) {
		for _, w := range d.GetWorkflows() {
			names = append(names, d.GetName()+"/"+w.GetName())
		}
		return names
	})
}

func (a *app) deployed(ctx context.Context, c *client.Client, names func(*crusterv1.Deployment) []string) ([]string, cobra.ShellCompDirective, error) {
	resp, err := c.Modules().List(ctx, &crusterv1.ListModulesRequest{Namespace: a.namespace})
	var all []string
	for _, d := range resp.GetDeployments() {
		all = append(all, names(d)...)
	}
	return all, cobra.ShellCompDirectiveDefault, err
}

// completeExecution offers workflows until one is typed, then its newest executions, of a
// state or of all.
func (a *app) completeExecution(state client.State) completion {
	return func(ctx context.Context, c *client.Client, word string) ([]string, cobra.ShellCompDirective, error) {
		parts := strings.SplitN(word, "/", 3)
		if len(parts) < 3 {
			workflows, _, err := a.completeWorkflow(ctx, c, word)
			for i := range workflows {
				workflows[i] += "/"
			}
			return workflows, cobra.ShellCompDirectiveNoSpace, err
		}
		wanted, err := parseState(string(state))
		if err != nil {
			return nil, 0, err
		}
		resp, err := c.Workflows().List(ctx, &crusterv1.ListRequest{Namespace: a.namespace, Workflow: parts[0] + "/" + parts[1], State: wanted, PageSize: completeLimit})
		var names []string
		for _, e := range resp.GetExecutions() {
			names = append(names, e.GetName())
		}
		return names, cobra.ShellCompDirectiveDefault, err
	}
}
