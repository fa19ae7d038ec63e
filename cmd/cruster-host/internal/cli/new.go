package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/cmd/cruster-host/internal/scaffold"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

func (a *app) newCommand() *cobra.Command {
	var language, sdk string
	cmd := &cobra.Command{
		Use:   "new NAME",
		Short: "Write the project of a new module",
		Long: `Write the project of a new module into the folder NAME: a workflow, an activity
with SQL, a test that needs no host, and a README with the commands that build,
test and push it. A folder that exists is left alone.

The project depends on the SDK of this version. --sdk makes it depend on the SDK
in a clone of the source instead.`,
		Example: `  cruster-host new greetings --lang go
  cruster-host new greetings --lang rust --sdk ../cruster`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := scaffold.New(scaffold.Request{Clone: sdk, Language: language, Name: args[0], Release: a.release})
			if err != nil {
				return err
			}
			if err := p.Write(); err != nil {
				return err
			}
			return a.emit(p, func() error {
				return terminal.Lines(a.stdout,
					terminal.Line{Name: "project", Value: p.Name},
					terminal.Line{Name: "language", Value: p.Language},
					terminal.Line{Name: "sdk", Value: p.SDKText()},
					terminal.Line{Name: "files", Value: strings.Join(p.Files, "\n")},
					terminal.Line{Name: "next", Value: "cd " + p.Name + " && cat README.md"},
				)
			})
		},
	}
	cmd.Flags().StringVar(&language, "lang", "", "language of the module: "+strings.Join(scaffold.Languages, " or "))
	cmd.Flags().StringVar(&sdk, "sdk", "", "path of a clone of Cruster's source to take the SDK from")
	return cmd
}
