package cli

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// TestSettings shows the configuration of a host for flags and variables. The command is
//
//	config [env=(NAME=VALUE, …)]
//
// its input the flags; it prints the fields of the configuration that differ from a host without
// flags, or the error.
func TestSettings(t *testing.T) {
	t.Parallel()
	plain, err := settingsOf(nil)
	require.NoError(t, err)
	datadriven.RunTest(t, "testdata/settings", func(t *testing.T, d *datadriven.TestData) string {
		var env []string
		for _, arg := range d.CmdArgs {
			env = append(env, arg.Vals...)
		}
		got, err := settingsOf(strings.Fields(d.Input), env...)
		if err != nil {
			return "error: " + err.Error()
		}
		if d.HasArg("all") {
			return strings.Join(got, "")
		}
		var out strings.Builder
		for i := range got {
			if got[i] != plain[i] {
				out.WriteString(got[i])
			}
		}
		return out.String()
	})
}

// settingsOf lists the fields of the configuration that flags and variables make.
func settingsOf(args []string, env ...string) ([]string, error) {
	var s settings
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.Usage = func() {}
	s.add(flags)
	s.addStore(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	lookup := environment(env...)
	if err := applyEnvironment(flags, lookup); err != nil {
		return nil, err
	}
	cfg, err := s.config(&strings.Builder{}, lookup)
	if err != nil {
		return nil, err
	}
	var lines []string
	value := reflect.ValueOf(cfg)
	for i := range value.NumField() {
		if name := value.Type().Field(i).Name; name != "Logger" {
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s: %v", name, value.Field(i)))+"\n")
		}
	}
	return lines, nil
}

func TestLogFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"text": "level=WARN msg=hot\n", "json": `"level":"WARN","msg":"hot"}` + "\n",
	} {
		var out strings.Builder
		log, err := (&settings{logFormat: format, logLevel: "warn"}).logger(&out)
		require.NoError(t, err)
		log.Info("cold")
		log.Warn("hot")
		require.True(t, strings.HasSuffix(out.String(), want), out.String())
		require.NotContains(t, out.String(), "cold")
	}
}
