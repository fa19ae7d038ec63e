package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

const (
	defaultAddr      = "127.0.0.1:7600"
	defaultNamespace = "default"
	defaultHTTPAddr  = "127.0.0.1:8600"

	defaultRetryFor = 5 * time.Second
	// waitingRetryFor is the default of commands that wait for an execution: a caller that waits
	// for that can also wait for a host that restarts.
	waitingRetryFor = 30 * time.Second
)

// waitsAnnotation marks commands that wait for an execution.
const waitsAnnotation = "cruster-waits"

// A Process holds a program's inputs from the machine.
type Process struct {
	// Args are the arguments, without the name of the program.
	Args []string
	// LookupEnv finds a variable of the environment.
	LookupEnv func(name string) (value string, ok bool)
	// Release is the version of the binary; empty if it is no release.
	Release string

	Stderr io.Writer
	Stdin  io.Reader
	Stdout io.Writer

	now func() time.Time // the clock; nil means the machine's
	// after which a following command describes the wait, and others after twice that; 0 means a second
	quiet time.Duration
}

// Run runs the program and returns its exit code.
func Run(ctx context.Context, p Process) int {
	a := newApp(p)
	root := a.rootCommand()
	root.SetArgs(p.Args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		a.output = a.wantedOutput(root, p.Args)
		a.report(err)
	}
	return exitCode(err)
}

// app is the shared state of all commands: the streams, the environment, and the flags of the root
// command.
type app struct {
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	lookupEnv func(name string) (string, bool)
	release   string
	now       func() time.Time
	quiet     time.Duration
	saying    sync.Mutex // whose holder may write to stderr while a call is under way

	stdinRead bool // standard input holds one value

	addr      string
	namespace string
	output    string
	retryFor  time.Duration
}

func newApp(p Process) *app {
	a := &app{
		stdin:     p.Stdin,
		stdout:    p.Stdout,
		stderr:    p.Stderr,
		lookupEnv: p.LookupEnv,
		release:   p.Release,
		now:       p.now,
		quiet:     cmp.Or(p.quiet, time.Second),
	}
	if a.now == nil {
		a.now = time.Now
	}
	return a
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cruster-host",
		Short: "Durable workflows in WebAssembly",
		Long: `cruster-host runs workflows that survive crashes, and talks to hosts that do.

Start a host with its store in a folder, push a module to it, run a workflow:
the examples below do just that.

` + exitHelp,
		Example: `  cruster-host dev
  cruster-host module push orders.wasm --name orders
  cruster-host workflow execute orders/ProcessOrder --input '{"order_id":"42"}'`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.prepare,
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, err) })
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))

	flags := root.PersistentFlags()
	flags.StringVar(&a.addr, "addr", defaultAddr, "address of the host's gRPC API")
	flags.StringVarP(&a.namespace, "namespace", "n", defaultNamespace, "tenant to work in")
	flags.StringVarP(&a.output, "output", "o", "table", "form of the output: table, json or jsonl")
	flags.DurationVar(
		&a.retryFor, "retry-for", defaultRetryFor,
		"how long to try again when the host does not answer or is full; workflow execute, wait and follow: 30s",
	)
	fromEnvironment(flags, "addr", "namespace", "output", "retry-for")

	root.AddCommand(
		a.devCommand(), a.serveCommand(), a.newCommand(), a.moduleCommand(), a.workflowCommand(), a.entityCommand(),
		a.deferredCommand(), a.scheduleCommand(),
		a.migrateCommand(), a.compileCommand(), a.doctorCommand(), a.errorsCommand(), a.versionCommand(),
	)
	usageArgs(root)
	a.completes(root)
	return root
}

// prepare runs before every command.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	// Accepted silently, it would look as if the host listened there.
	if (cmd.Name() == "dev" || cmd.Name() == "serve") && cmd.Flags().Changed("addr") {
		return usage.Errorf("--addr is where other commands look for a host: %s listens on --grpc-addr", cmd.Name())
	}
	if err := applyEnvironment(cmd.Flags(), a.lookupEnv); err != nil {
		return err
	}
	// An empty variable of a script would be production.
	if a.namespace == "" {
		return usage.Errorf("--namespace is empty; leave it out for the namespace %q", defaultNamespace)
	}
	if cmd.Annotations[waitsAnnotation] != "" && !cmd.Flags().Changed("retry-for") {
		a.retryFor = waitingRetryFor
	}
	switch a.output {
	case "table", "json", "jsonl":
		return nil
	default:
		if cmd.Name() == "errors" && a.output == "markdown" {
			return nil
		}
		return usage.Errorf("there is no output %q: choose table, json or jsonl", a.output)
	}
}

// flagError describes the mistake in a flag, without the words of the parser of numbers.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "" {
		return usage.Errorf("%w%s", err, abi.DidYouMean(unknown.GetSpecifiedName(), nil, flagsOf(cmd)...))
	}
	var invalid *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &invalid) || !errors.As(err, &number) {
		return usage.Errorf("%w", err)
	}
	name, wanted := invalid.GetFlag().Name, "a number"
	switch number.Func {
	case "ParseUint":
		wanted = "0 or a larger whole number"
	case "ParseInt", "Atoi":
		wanted = "a whole number"
	case "ParseBool":
		wanted = "true or false"
	}
	return usage.Errorf("--%s is %q, not %s", name, invalid.GetValue(), wanted)
}

// flagsOf lists the flags that a command has.
func flagsOf(cmd *cobra.Command) (flags []abi.Spelling) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, abi.Spelling{Text: f.Name, Of: "--" + f.Name})
		}
	})
	return flags
}

// usageArgs makes usage errors of a wrong number of arguments and of unknown commands, for cmd and all commands below
// it.
func usageArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() && len(args) > 0 {
			return unknownCommand(c, args[0])
		}
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usage.Errorf("%s\nusage: %s", wrongArgs(c, args, err), c.UseLine())
		}
		return nil
	}
	for _, sub := range cmd.Commands() {
		usageArgs(sub)
	}
}

// wrongArgs names the argument that is missing or one too many.
func wrongArgs(cmd *cobra.Command, args []string, err error) string {
	names := strings.Fields(cmd.Use)[1:]
	switch {
	case len(args) < len(names):
		return names[len(args)] + " is missing"
	case len(args) > len(names):
		return fmt.Sprintf("the argument %q is one too many", args[len(names)])
	default:
		return err.Error()
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	message := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+name)
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage.Errorf("%s", message)
}

// group is a command that only holds others.
func group(use, short, long, example string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     use,
		Short:   short,
		Long:    long,
		Example: example,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}
