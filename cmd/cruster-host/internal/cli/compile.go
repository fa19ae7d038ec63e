package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/cmd/cruster-host/internal/serve"
	"github.com/cruster/cruster/host/wasm"
)

// maxCompiled bounds the command's input. Hosts hand over modules that they have accepted.
const maxCompiled = 1 << 30

// compileCommand is for hosts, which run it to compile large modules on all cores.
func (a *app) compileCommand() *cobra.Command {
	return &cobra.Command{
		Use:   serve.CompileCommand + " FOLDER",
		Short: "Compile a module from standard input into a cache",
		Long: `Compile a module from standard input into the cache in a folder, on all cores.
Hosts run this for large modules, with what they have checked and rewritten: a
module as it was pushed is another one.`,
		Example: "  cruster-host compile-module cruster-data/compiled <checked.wasm",
		Args:    cobra.ExactArgs(1),
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			content, err := io.ReadAll(io.LimitReader(cmd.InOrStdin(), maxCompiled))
			if err != nil {
				return abi.Errorf(abi.CodeBadRequest, "read the module: %v", err)
			}
			if err := wasm.CompileInto(cmd.Context(), args[0], content); err != nil {
				return abi.Errorf(abi.CodeNotWasm, "%v", err)
			}
			return nil
		},
	}
}
