package cli

import (
	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/doctor"
	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

func (a *app) doctorCommand() *cobra.Command {
	var grpcAddr, httpAddr, store, schema string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "See what is missing on this machine, and how to fix it",
		Long: `See what is missing on this machine, and the command that fixes it: the
toolchains of Go and Rust with what they need to build modules, the ports and
the store of a host, the host that answers, and the versions. Nothing is
changed.

One language is enough: what the other lacks is a note. The exit code is not 0
if there is a problem.`,
		Example: `  cruster-host doctor
  cruster-host doctor --store postgres://cruster@db.internal/cruster -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			spec, err := serve.ParseStore(store, schema)
			if err != nil {
				return err
			}
			found := doctor.Examine(cmd.Context(), doctor.Config{
				Addr: a.addr, GRPCAddr: grpcAddr, HTTPAddr: httpAddr, Store: spec, Version: version(a.release),
			})
			if err := emitAll(
				a, found, map[string]any{"findings": found}, func() error { return a.writeFindings(found) },
			); err != nil {
				return err
			}
			return problems(found)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&grpcAddr, "grpc-addr", defaultAddr, "where a host would listen for gRPC")
	flags.StringVar(&httpAddr, "http-addr", defaultHTTPAddr, "where a host would listen for probes and metrics")
	flags.StringVar(&schema, "schema", "cruster", "schema of Cruster's own tables in Postgres")
	flags.StringVar(&store, "store", "sqlite:cruster-data", serve.StoreUsage)
	fromEnvironment(flags, "grpc-addr", "http-addr", "schema", "store")
	return cmd
}

func (a *app) writeFindings(found []doctor.Finding) error {
	var rows [][]string
	fixes := []terminal.Line{}
	for _, f := range found {
		rows = append(rows, []string{f.What, f.Status, f.Text})
		if f.Fix != "" {
			fixes = append(fixes, terminal.Line{Name: f.What, Value: f.Fix})
		}
	}
	if err := terminal.Table(a.stdout, []string{"WHAT", "STATUS", "FOUND"}, rows); err != nil || len(fixes) == 0 {
		return err
	}
	if _, err := a.stdout.Write([]byte("\nTo fix it:\n")); err != nil {
		return err
	}
	return terminal.Lines(a.stdout, fixes...)
}

// problems is the error of a machine that has some.
func problems(found []doctor.Finding) error {
	n := 0
	for _, f := range found {
		if f.Status == doctor.Problem {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	return abi.Errorf(abi.CodeBadConfig, "%d of %d findings are problems", n, len(found)).WithHint(
		"Each has a command that fixes it.",
	)
}
