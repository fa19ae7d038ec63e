package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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
			p, err := newProject(args[0], language, sdk)
			if err != nil {
				return err
			}
			if err := p.write(); err != nil {
				return err
			}
			return a.emit(p, func() error {
				return a.lines(line{"project", p.Name}, line{"language", p.Language}, line{"sdk", p.sdkLine()},
					line{"files", strings.Join(p.Files, "\n")}, line{"next", "cd " + p.Name + " && cat README.md"})
			})
		},
	}
	cmd.Flags().StringVar(&language, "lang", "", "language of the module: "+strings.Join(languages, " or "))
	cmd.Flags().StringVar(&sdk, "sdk", "", "a clone of Cruster's source, whose SDK the project is to use")
	return cmd
}

var languages = []string{"go", "rust"}

// newProject checks what was asked for; it writes nothing.
func newProject(name, language, sdk string) (*project, error) {
	if err := checkProjectName(name); err != nil {
		return nil, err
	}
	switch {
	case language == "":
		return nil, usagef("--lang is missing: choose %s", strings.Join(languages, " or "))
	case !slices.Contains(languages, language):
		return nil, usagef("there is no language %q: choose %s", language, strings.Join(languages, " or "))
	}
	folder, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("the current folder: %w", err)
	}
	p := &project{Name: name, Language: language, Folder: folder, Version: sdkVersion()}
	if sdk != "" {
		if err := p.useClone(sdk); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// maxProjectName leaves room for the names that are made of it.
const maxProjectName = 40

// reservedNames cannot be those of a crate: Cargo refuses them, or they would
// hide a crate that every module needs. They are refused in every language, so
// that a name does not depend on it.
var reservedNames = strings.Fields(`abstract alloc as async await become box break build const continue core crate cruster
	deps do dyn else enum examples extern false final fn for gen if impl in incremental let log loop macro main match mod move
	mut override priv proc-macro pub ref return self serde static std struct super test trait true try type typeof
	unsafe unsized use virtual where while yield`)

// checkProjectName takes what can be a folder, a deployment, a crate, and a part
// of the name of a table.
func checkProjectName(name string) error {
	ok := name != "" && name[0] >= 'a' && name[0] <= 'z' && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--")
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-')
	}
	switch {
	case !ok:
		return usagef("%q cannot be the name of a project: take lower-case letters, digits and single hyphens, a letter first", name)
	case len(name) > maxProjectName:
		return usagef("%q is too long for the name of a project: it may have %d letters", name, maxProjectName)
	case slices.Contains(reservedNames, name):
		return usagef("%q cannot be the name of a project: the word is taken", name)
	}
	return nil
}
