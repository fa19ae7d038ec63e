package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	client "github.com/cruster/cruster/clients/go"
	"github.com/cruster/cruster/cmd/cruster-host/internal/scaffold"
)

const (
	// completeTimeout bounds the wait of a shell after the tab key.
	completeTimeout = time.Second
	// completeLimit is how many executions are offered.
	completeLimit = 100
)

// A completion asks the host for the possible endings of a word. After an error there are no
// offers, and no message either: a line that is being typed is no place for it.
type completion func(ctx context.Context, c *client.Client, word string) ([]string, cobra.ShellCompDirective, error)

// workflowNames are the names of something that a workflow has, as completions of a word.
type workflowNames func(w *crusterv1.WorkflowInfo, word string) ([]string, cobra.ShellCompDirective)

// fixedWords are the values of flags that have no others, by flag or by command and flag. Namespaces
// cannot be listed: they are not completed, and neither are files in their place.
var fixedWords = map[string][]string{
	"if-finished":               {"return", "restart", "restart-failed", "refuse"},
	"lang":                      scaffold.Languages,
	"log-format":                {"text", "json"},
	"log-level":                 {"debug", "info", "warn", "error"},
	"namespace":                 nil,
	"output":                    {"table", "json", "jsonl"},
	"overlap":                   {"skip", "queue", "cancel", "allow"},
	"schedule backfill overlap": {"queue", "allow"},
	"workflow list state":       {"running", "paused", "completed", "failed", "interrupted"},
	"workflow move state":       {"running", "paused"},
}

// paths are the flags whose values are files or folders. Where nothing is known of a word it is none of these, and
// files are not offered.
var paths = map[string]cobra.ShellCompDirective{
	"cache-dir":         cobra.ShellCompDirectiveFilterDirs,
	"data-dir":          cobra.ShellCompDirectiveFilterDirs,
	"input-file":        cobra.ShellCompDirectiveDefault,
	"signal-input-file": cobra.ShellCompDirectiveDefault,
	"sdk":               cobra.ShellCompDirectiveFilterDirs,
	"store":             cobra.ShellCompDirectiveDefault,
	"watch":             cobra.ShellCompDirectiveFilterDirs,
}

// completes has the shell complete the arguments of commands and the values of their flags, by
// asking the host for names not known here.
func (a *app) completes(root *cobra.Command) {
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	completeFixed(root, root.PersistentFlags())
	completeLocal(root)
	args := map[string]completion{
		"entity destroy":   a.completeEntity,
		"entity state":     a.completeEntity,
		"entity unlock":    a.completeLocked,
		"entity drop":      a.completeParked,
		"entity retry":     a.completeParked,
		"module describe":  a.completeDeployment,
		"workflow execute": a.completeWorkflow,
		"workflow start":   a.completeWorkflow,
	}
	for _, verb := range strings.Fields("describe pause resume trigger backfill") {
		args["schedule "+verb] = a.completeSchedule
	}
	for _, verb := range strings.Fields("update delete") {
		args["schedule "+verb] = a.completeOwnSchedule
	}
	for _, verb := range strings.Fields(
		"poll wait describe history follow interrupt terminate move fork restart delete",
	) {
		args["workflow "+verb] = a.completeExecution("")
	}
	for _, verb := range strings.Fields("resume fail") {
		args["workflow "+verb] = a.completeExecution(client.Paused)
	}
	named := map[string]workflowNames{
		"deferred reject":            deferredNames,
		"deferred resolve":           deferredNames,
		"workflow query":             namesOf((*crusterv1.WorkflowInfo).GetQueries),
		"workflow signal":            namesOf((*crusterv1.WorkflowInfo).GetSignals),
		"workflow signal-with-start": namesOf((*crusterv1.WorkflowInfo).GetSignals),
		"workflow state":             namesOf((*crusterv1.WorkflowInfo).GetState),
		"workflow update":            namesOf((*crusterv1.WorkflowInfo).GetUpdates),
	}
	flags := map[string]map[string]completion{
		"entity list": {"type": a.completeEntityType}, "schedule update": {"workflow": a.completeWorkflow},
		"module push": {"name": a.completeDeployment}, "module check": {"name": a.completeDeployment},
		"workflow list": {"workflow": a.completeWorkflow}, "workflow move": {"workflow": a.completeWorkflow},
	}
	for path, complete := range args {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = a.firstArgument(complete)
		}
	}
	subject := func(cmd *cobra.Command) completion {
		switch {
		case cmd.Name() == "signal-with-start":
			return a.completeWorkflow
		case cmd.Parent().Name() == "deferred":
			return a.completeExecution(client.Running)
		default:
			return a.completeExecution("")
		}
	}
	for path, names := range named {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = a.subjectAndName(subject(cmd), names)
		}
	}
	inOrder := map[string][]following{
		"entity call":     {always(a.completeEntity), a.completeOperation},
		"entity send":     {always(a.completeEntity), a.completeOperation},
		"schedule create": {nil, always(a.completeWorkflow)},
	}
	for path, each := range inOrder {
		if cmd, _, err := root.Find(strings.Fields(path)); err == nil {
			cmd.ValidArgsFunction = a.inOrder(each...)
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

// completeFixed has the shell complete the values of flags that are known, of a command and its
// subcommands.
func completeFixed(cmd *cobra.Command, flags *pflag.FlagSet) {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	flags.VisitAll(func(f *pflag.Flag) {
		words, ok := fixedWords[path+" "+f.Name]
		if !ok {
			words, ok = fixedWords[f.Name]
		}
		how := cobra.ShellCompDirectiveNoFileComp
		if !ok {
			how, ok = paths[f.Name]
		}
		if ok {
			// it is there, and has none yet
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, how))
		}
	})
	for _, below := range cmd.Commands() {
		completeFixed(below, below.LocalNonPersistentFlags())
	}
}

// subjectAndName completes an execution or a workflow, and then the name of something that can be sent to it.
func (a *app) subjectAndName(subject completion, names workflowNames) cobra.CompletionFunc {
	first := a.asking(subject)
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		switch len(args) {
		case 0:
			return first(cmd, args, word)
		case 1:
			return a.asking(a.completeName(args[0], names))(cmd, args, word)
		default:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
}

// completeName offers names of a workflow, or of the workflow of an execution.
func (a *app) completeName(of string, names workflowNames) completion {
	return func(
		ctx context.Context, c *client.Client, word string,
	) (found []string, how cobra.ShellCompDirective, err error) {
		_, _, err = a.deployed(ctx, c, func(d *crusterv1.Deployment) []string {
			for _, w := range d.GetWorkflows() {
				if workflow := d.GetName() + "/" + w.GetName(); of == workflow || strings.HasPrefix(of, workflow+"/") {
					found, how = names(w, word)
				}
			}
			return nil
		})
		return found, how, err
	}
}

// namesOf returns the names of a workflow's list.
func namesOf[T interface{ GetName() string }](list func(*crusterv1.WorkflowInfo) []T) workflowNames {
	return func(w *crusterv1.WorkflowInfo, _ string) (names []string, _ cobra.ShellCompDirective) {
		for _, item := range list(w) {
			names = append(names, item.GetName())
		}
		return names, cobra.ShellCompDirectiveDefault
	}
}

// deferredNames returns the names of the deferreds of a workflow, of a dynamic one only the
// beginning.
func deferredNames(w *crusterv1.WorkflowInfo, word string) (names []string, how cobra.ShellCompDirective) {
	for _, d := range w.GetDeferreds() {
		names = append(names, d.GetName())
		if d.GetDynamic() && strings.HasPrefix(d.GetName(), word) {
			how = cobra.ShellCompDirectiveNoSpace
		}
	}
	return names, how
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

func (a *app) completeDeployment(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	return a.deployed(ctx, c, func(d *crusterv1.Deployment) []string { return []string{d.GetName()} })
}

func (a *app) completeWorkflow(
	ctx context.Context, c *client.Client, _ string,
) ([]string, cobra.ShellCompDirective, error) {
	return a.deployed(ctx, c, func(d *crusterv1.Deployment) (names []string) {
		for _, w := range d.GetWorkflows() {
			names = append(names, d.GetName()+"/"+w.GetName())
		}
		return names
	})
}

func (a *app) deployed(
	ctx context.Context, c *client.Client, names func(*crusterv1.Deployment) []string,
) ([]string, cobra.ShellCompDirective, error) {
	resp, err := c.Deployments().ListDeployments(ctx, &crusterv1.ListDeploymentsRequest{Namespace: a.namespace})
	var all []string
	for _, d := range resp.GetDeployments() {
		all = append(all, names(d)...)
	}
	return all, cobra.ShellCompDirectiveDefault, err
}

// completeExecution offers workflows until one is typed, then its newest executions, of a state or of all.
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
		resp, err := c.Workflows().ListExecutions(ctx, &crusterv1.ListExecutionsRequest{
			Namespace: a.namespace, Workflow: parts[0] + "/" + parts[1], State: wanted, PageSize: completeLimit,
		})
		var names []string
		for _, e := range resp.GetExecutions() {
			names = append(names, e.GetName())
		}
		return names, cobra.ShellCompDirectiveDefault, err
	}
}
