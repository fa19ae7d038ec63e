package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/client"
)

const defaultAddr = "127.0.0.1:7600"

// app is what all verbs share: the streams and the flags of the root command.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	addr      string
	namespace string
	output    string
	retryFor  time.Duration
}

// Run is the program: it never exits and touches nothing but its arguments and
// the environment.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, version string) int {
	if version != "" {
		release = version
	}
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil {
		report(stderr, err)
	}
	return exitCode(err)
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "cruster-host",
		Short: "Durable workflows in WebAssembly",
		Long: `cruster-host runs workflows that survive crashes, and talks to hosts that do.

Start a host with its store in a folder, push a module to it, run a workflow:

  cruster-host dev
  cruster-host module push orders.wasm --name orders
  cruster-host workflow execute orders/ProcessOrder --input '{"order_id":"42"}'

Flags can also be given in the environment where their help names a variable;
the flag wins.

` + exitHelp,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.prepare,
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err: err} })

	flags := root.PersistentFlags()
	flags.StringVar(&a.addr, "addr", defaultAddr, "address of the host's gRPC API")
	flags.StringVarP(&a.namespace, "namespace", "n", "default", "tenant to work in")
	flags.StringVarP(&a.output, "output", "o", "table", "form of the output: table, json or jsonl")
	flags.DurationVar(&a.retryFor, "retry-for", 2*time.Second, "how long to try again when the host does not answer or is full")
	fromEnvironment(flags, "addr", "namespace", "output", "retry-for")

	root.AddCommand(a.devCommand(), a.serveCommand(), a.newCommand(), a.moduleCommand(), a.workflowCommand(), a.deferredCommand(),
		a.migrateCommand(), a.errorsCommand(), a.versionCommand())
	usageArgs(root)
	return root
}

// prepare runs before every verb.
func (a *app) prepare(cmd *cobra.Command, _ []string) error {
	// Taken in silence it would look as if the host listened there.
	if (cmd.Name() == "dev" || cmd.Name() == "serve") && cmd.Flags().Changed("addr") {
		return usagef("--addr is where other commands look for a host: %s listens on --grpc-addr", cmd.Name())
	}
	if err := applyEnvironment(cmd.Flags()); err != nil {
		return err
	}
	switch a.output {
	case "table", "json", "jsonl":
		return nil
	default:
		if cmd.Name() == "errors" && a.output == "markdown" {
			return nil
		}
		return usagef("there is no output %q: choose table, json or jsonl", a.output)
	}
}

// usageArgs makes usage errors of wrong numbers of arguments and of unknown
// verbs, for all commands below cmd.
func usageArgs(cmd *cobra.Command) {
	check := cmd.Args
	cmd.Args = func(c *cobra.Command, args []string) error {
		if c.HasSubCommands() && len(args) > 0 {
			return unknownVerb(c, args[0])
		}
		if check == nil {
			return nil
		}
		if err := check(c, args); err != nil {
			return usagef("%s\nusage: %s", wrongArgs(c, args, err), c.UseLine())
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
		return fmt.Sprintf("there is no place for the argument %q", args[len(names)])
	default:
		return err.Error()
	}
}

func unknownVerb(cmd *cobra.Command, verb string) error {
	message := fmt.Sprintf("there is no command %q", cmd.CommandPath()+" "+verb)
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(verb); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return &usageError{err: errors.New(message)}
}

const envAnnotation = "cruster-env"

// fromEnvironment lets flags be given as CRUSTER_NAME, and says so in their help.
func fromEnvironment(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		f := flags.Lookup(name)
		env := "CRUSTER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		f.Annotations = map[string][]string{envAnnotation: {env}}
		f.Usage += " [" + env + "]"
	}
}

// applyEnvironment sets the flags that were not given from the environment.
func applyEnvironment(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		env := f.Annotations[envAnnotation]
		if len(env) == 0 || f.Changed || failed != nil {
			return
		}
		if value, ok := os.LookupEnv(env[0]); ok && value != "" {
			if err := flags.Set(f.Name, value); err != nil {
				failed = usagef("%s: %v", env[0], err)
			}
		}
	})
	return failed
}

// withClient runs a verb that talks to a host.
func (a *app) withClient(do func(c *client.Client) error) error {
	if err := checkAddr(a.addr); err != nil {
		return err
	}
	c, err := client.Dial(a.addr, client.WithNamespace(a.namespace), client.WithRetryFor(a.retryFor))
	if err != nil {
		return err
	}
	defer c.Close() // nothing is pending any more
	return a.whereUnreachable(do(c))
}

// checkAddr refuses what the resolver would complain about in terms of its own.
func checkAddr(addr string) error {
	if strings.HasPrefix(addr, "unix:") || strings.HasPrefix(addr, "dns:") || strings.HasPrefix(addr, "passthrough:") {
		return nil // targets of gRPC
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" || strings.ContainsAny(host, "/ ") {
		return usagef("%q is no address of a host: write HOST:PORT, as in %s", addr, defaultAddr)
	}
	return nil
}

// whereUnreachable adds the address to the error of a host that does not answer:
// it may come from the environment and be forgotten.
func (a *app) whereUnreachable(err error) error {
	var coded *abi.Error
	if !errors.As(err, &coded) || coded.Code != abi.CodeUnreachable {
		return err
	}
	at := *coded
	at.Message = strings.Replace(at.Message, "no host answers", "no host answers at "+a.addr, 1)
	return &at
}

// group is a command that only holds others.
func group(use, short, long string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(verbs...)
	return cmd
}
