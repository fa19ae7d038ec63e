package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/terminal"
)

// version is the release, or else the toolchain's record of the source.
func version(release string) string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of this binary, of the guest ABI it speaks and of its
toolchain.`,
		Example: "  cruster-host version -o json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			view := map[string]any{"version": version(a.release), "abi": abi.Version, "go": runtime.Version()}
			return a.emit(view, func() error {
				return terminal.Lines(a.stdout,
					terminal.Line{Name: "version", Value: version(a.release)},
					terminal.Line{Name: "abi", Value: fmt.Sprint(abi.Version)},
					terminal.Line{Name: "go", Value: runtime.Version()})
			})
		},
	}
}
