package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/cmd/cruster-host/internal/devloop"
	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

func (a *app) devCommand() *cobra.Command {
	var s settings
	var data string
	var watch []string
	var force bool
	cmd := &cobra.Command{
		Use:   "dev",
		Short: "Run a host on this machine with its store in a folder",
		Long: `Run a host on this machine with its store in a folder. Everything survives a
crash or kill -9; stop it with Ctrl-C, a second Ctrl-C ends it at once. What
workflows and activities log is written to standard error.

--watch builds the module in a folder, deploys it, and does so again whenever a
file changes: Go, Rust (with Cargo), or what a build.sh makes, which is given
the file to write. The deployment has the name of the folder, or the one in
NAME=DIR. What the compiler complains about is shown, and what was deployed
before stays.

A new module is checked against the open executions, as 'module check' does, and
is deployed whether it fits them or not: open executions stay on the module that
they are on until they are moved. The screen says which fit, and what to type.`,
		Example: `  cruster-host dev
  cruster-host dev --watch ./orders --watch pay=../payments/module
  cruster-host dev --data-dir /tmp/try --grpc-addr 127.0.0.1:0 \
    --http-addr 127.0.0.1:0`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.cfg.Store = "sqlite:" + data
			sources, err := devloop.ParseSources(watch)
			if err != nil {
				return err
			}
			if len(sources) == 0 {
				return a.serve(cmd.Context(), &s, nil)
			}
			return a.serve(cmd.Context(), &s, func(ctx context.Context) error {
				return a.watchFolders(ctx, sources, data, force)
			})
		},
	}
	s.add(cmd.Flags())
	cmd.Flags().StringVar(&data, "data-dir", "cruster-data", "folder of the store")
	cmd.Flags().StringArrayVar(
		&watch, "watch", nil, "DIR or NAME=DIR: build the module there on each change and deploy it; may be repeated",
	)
	cmd.Flags().BoolVar(
		&force, "force", false,
		"with --watch: deploy also what does not fit the states of entities, or what open executions may send them",
	)
	fromEnvironment(cmd.Flags(), "data-dir")
	return cmd
}

func (a *app) serveCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run a host",
		Long: `Run a host. SIGTERM or SIGINT stops it: it takes no new work, lets running
activities finish within the drain timeout, and exits. Unfinished executions go
on when a host starts on the same store. A second signal ends the process at
once, which is safe too.

A store has one host at a time. On Postgres the last host to start takes over
and the former exits; an embedded store that is in use is refused.`,
		Example: `  cruster-host serve --store postgres://cruster@db.internal/cruster \
    --grpc-addr :7600 --http-addr :8600
  CRUSTER_STORE=sqlite:/var/lib/cruster cruster-host serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), &s, nil) },
	}
	s.add(cmd.Flags())
	s.addStore(cmd.Flags())
	return cmd
}

// serve runs a host until ctx is done, and beside it, if it is not nil.
func (a *app) serve(ctx context.Context, s *settings, beside func(ctx context.Context) error) error {
	cfg, err := s.config(a.stderr, a.lookupEnv)
	if err != nil {
		return err
	}
	store, err := serve.ParseStore(cfg.Store, cfg.Schema)
	if err != nil {
		return err
	}
	if _, given := a.lookupEnv("GOMEMLIMIT"); !given {
		serve.LimitHeap(cfg.Memory)
	}
	h, err := serve.Start(ctx, cfg)
	switch {
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil // as later: a host that is told to stop has not failed
	case err != nil:
		return err
	}
	next := ""
	if beside == nil {
		next = nextCommand(h.Deployments(ctx, a.namespace))
	}
	a.firstScreen(h.GRPCAddr(), h.HTTPAddr(), store.String(), next)
	if beside == nil {
		return errors.Join(h.Wait(ctx), h.Stop())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel() // the host runs for it
		ended <- beside(ctx)
	}()
	err = h.Wait(ctx)
	cancel()
	return errors.Join(err, <-ended, h.Stop())
}

// nextCommand returns the command to type once a host runs, by its deployments.
func nextCommand(deployed []string) string {
	switch len(deployed) {
	case 0:
		return "module push FILE.wasm --name NAME"
	case 1:
		return "module describe " + deployed[0]
	default:
		return "module list"
	}
}

// firstScreen says where everything is and, if the modules come from people, the next command.
func (a *app) firstScreen(grpc, http, store, next string) {
	a.addr = grpc
	// The screen is for people; a host goes on without it.
	_ = a.emit(
		map[string]string{"version": version(a.release), "grpc": grpc, "http": http, "store": store},
		func() error {
			if err := terminal.Lines(a.stdout,
				terminal.Line{Name: "Cruster", Value: version(a.release)},
				terminal.Line{Name: "gRPC", Value: grpc},
				terminal.Line{Name: "HTTP", Value: "http://" + http + "  (/healthz /readyz /metrics)"},
				terminal.Line{Name: "Store", Value: store},
			); err != nil {
				return err
			}
			if next == "" {
				_, err := fmt.Fprintln(a.stdout)
				return err
			}
			_, err := fmt.Fprintf(
				a.stdout, "\nNext, in another terminal:\n  cruster-host %s%s\n", next, a.addrFlagAnywhere(),
			)
			return err
		},
	)
}
