package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/cruster/cruster/cmd/cruster-host/internal/usage"
)

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

// applyEnvironment sets the flags that were not given from the environment. An empty variable counts as absent.
func applyEnvironment(flags *pflag.FlagSet, lookup func(name string) (string, bool)) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		env := f.Annotations[envAnnotation]
		if len(env) == 0 || f.Changed || failed != nil {
			return
		}
		if value, ok := lookup(env[0]); ok && value != "" {
			if err := flags.Set(f.Name, value); err != nil {
				failed = usage.Errorf("%s: %v", env[0], err)
			}
		}
	})
	return failed
}
