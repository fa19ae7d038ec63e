package cli

import (
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/migrations"
)

func (a *app) migrateCommand() *cobra.Command {
	var s settings
	var show, acceptLostLog bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the schema of a store up to date, or print its SQL",
		Long: `Bring the schema of a store up to date. A host does so itself when it starts;
use this where the host's own user may not change the schema. --print writes the
SQL instead, for the given store or else for both kinds.

--accept-lost-log accepts an embedded store whose log is missing (CR-5014), as
it is: without what was committed last. Where the loss is only apparent, because
another program has opened the store since the host ended, nothing is lost.`,
		Example: `  cruster-host migrate --print --store postgres://owner@db.internal/cruster
  cruster-host migrate --store postgres://owner@db.internal/cruster
  cruster-host migrate --store sqlite:/var/lib/cruster --accept-lost-log`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if show && s.cfg.Store == "" {
				for _, dialect := range []string{abi.DialectSQLite, abi.DialectPostgres} {
					if err := a.printMigrations(dialect); err != nil {
						return err
					}
				}
				return nil
			}
			spec, err := serve.ParseStore(s.cfg.Store, s.cfg.Schema)
			if err != nil {
				return err
			}
			if show {
				return a.printMigrations(spec.Dialect)
			}
			spec.AcceptLostLog = acceptLostLog
			log, err := s.logger(a.stderr)
			if err != nil {
				return err
			}
			store, err := spec.Open(cmd.Context(), log)
			if err != nil {
				return err
			}
			if err := store.Close(); err != nil {
				return abi.Errorf(abi.CodeStore, "close the store: %v", err)
			}
			return a.emit(map[string]string{"store": spec.Dialect, "done": "migrated"}, func() error {
				_, err := fmt.Fprintf(a.stdout, "migrated: %s\n", spec.Dialect)
				return err
			})
		},
	}
	s.logLevel, s.logFormat = "info", "text"
	cmd.Flags().BoolVar(&show, "print", false, "print the SQL instead of applying it")
	cmd.Flags().BoolVar(
		&acceptLostLog, "accept-lost-log", false, "accept an embedded store whose log is missing, as it is",
	)
	s.addStore(cmd.Flags())
	return cmd
}

// printMigrations writes the embedded SQL of a dialect, in order.
func (a *app) printMigrations(dialect string) error {
	files := fs.FS(migrations.SQLite)
	if dialect == abi.DialectPostgres {
		files = migrations.Postgres
	}
	names, err := fs.Glob(files, dialect+"/*.sql")
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(a.stdout, "-- %s\n\n%s\n", name, text); err != nil {
			return err
		}
	}
	return nil
}
