package catalog

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	type values = map[string]string
	for name, c := range map[string]struct {
		change Settings
		config values
		allow  []string
		gone   []string
	}{
		"nothing": {Settings{}, values{"a": "1", "b": "2"}, []string{"x.com", "y.com"}, nil},
		"one is set": {
			Settings{Config: values{"b": "3", "c": "4"}},
			values{"a": "1", "b": "3", "c": "4"},
			[]string{"x.com", "y.com"},
			nil,
		},
		"one is unset": {
			Settings{UnsetConfig: []string{"a"}},
			values{"b": "2"},
			[]string{"x.com", "y.com"},
			[]string{"the configuration value a"},
		},
		"all are new": {
			Settings{Config: values{"b": "3"}, ReplaceConfig: true},
			values{"b": "3"},
			[]string{"x.com", "y.com"},
			[]string{"the configuration value a"},
		},
		"one is granted": {
			Settings{AllowHTTP: []string{"z.com", "x.com"}},
			values{"a": "1", "b": "2"},
			[]string{"x.com", "y.com", "z.com"},
			nil,
		},
		"one is revoked": {
			Settings{RevokeHTTP: []string{"x.com"}},
			values{"a": "1", "b": "2"},
			[]string{"y.com"},
			[]string{"calls to x.com"},
		},
		"other grants": {
			Settings{AllowHTTP: []string{"y.com"}, ReplaceHTTP: true},
			values{"a": "1", "b": "2"},
			[]string{"y.com"},
			[]string{"calls to x.com"},
		},
		"none of either": {
			change: Settings{ReplaceConfig: true, ReplaceHTTP: true},
			config: values{},
			gone: []string{
				"the configuration value a", "the configuration value b", "calls to x.com", "calls to y.com",
			},
		},
	} {
		old := &journal.Deployment{
			Name: "shop", Config: values{"a": "1", "b": "2"}, AllowHTTP: []string{"x.com", "y.com"},
		}
		require.NoError(t, c.change.check(), name)
		config, allow, gone, err := c.change.apply(old)
		require.NoError(t, err, name)
		require.Equal(t, c.config, config, name)
		require.Equal(t, c.allow, allow, name)
		require.Equal(t, c.gone, gone, name)
		require.Equal(t, values{"a": "1", "b": "2"}, old.Config, "%s: what is in use is not changed", name)
		require.Equal(t, []string{"x.com", "y.com"}, old.AllowHTTP, name)
	}
	for name, c := range map[string]struct {
		change Settings
		want   string
	}{
		"set and unset":            {Settings{Config: values{"a": "3"}, UnsetConfig: []string{"a"}}, "at once"},
		"granted and revoked":      {Settings{AllowHTTP: []string{"x.com"}, RevokeHTTP: []string{"x.com"}}, "at once"},
		"unset what is not there":  {Settings{UnsetConfig: []string{"A"}}, `no configuration value "A"`},
		"revoke what is not there": {Settings{RevokeHTTP: []string{"z.com"}}, `not granted calls to "z.com"`},
	} {
		err := c.change.check()
		if err == nil {
			_, _, _, err = c.change.apply(&journal.Deployment{
				Name: "shop", Config: values{"a": "1"}, AllowHTTP: []string{"x.com"},
			})
		}
		require.Equal(t, abi.CodeBadDeployment, abi.CodeOf(err), name)
		require.ErrorContains(t, err, c.want, name)
	}
}

// TestSettingsStay: a push changes the settings that it names. Settings that open executions may use are removed
// only if the caller says so.
func TestSettingsStay(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	using := ""
	push := func(s Settings) (*DeploymentInfo, error) {
		return c.Push(t.Context(), PushRequest{
			Namespace: "default", Name: "tiny", Binary: oneWorkflow, Settings: s,
			Uses: Uses{InUse: func(context.Context) (string, error) { return using, nil }},
		}, at(7))
	}
	_, err := push(Settings{Config: map[string]string{"rate": "1", "key": "secret"}, AllowHTTP: []string{"x.com"}})
	require.NoError(t, err)
	info, err := push(Settings{Config: map[string]string{"rate": "2"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"rate": "2", "key": "secret"}, info.Config)
	require.Equal(t, []string{"x.com"}, info.AllowHTTP)

	using = "tiny/W/1"
	_, err = push(Settings{UnsetConfig: []string{"key"}})
	require.Equal(t, abi.CodeSettingsInUse, abi.CodeOf(err))
	require.ErrorContains(t, err, "the configuration value key, which open executions may use, as tiny/W/1")
	d, err := c.Deployment(t.Context(), "default", "tiny")
	require.NoError(t, err)
	require.Equal(t, "secret", d.Config["key"], "nothing was changed")
	info, err = push(Settings{UnsetConfig: []string{"key"}, Anyway: true})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"rate": "2"}, info.Config)
	using = ""
	info, err = push(Settings{ReplaceHTTP: true})
	require.NoError(t, err, "none is open")
	require.Empty(t, info.AllowHTTP)
}

// TestAGrantIsRevokedHoweverItIsSpelt: the policy does not tell capitals from others, so additions
// and removals of a push must not either.
func TestAGrantIsRevokedHoweverItIsSpelt(t *testing.T) {
	t.Parallel()
	old := &journal.Deployment{Name: "shop", AllowHTTP: []string{"API.example.com"}}
	_, allow, _, err := (&Settings{AllowHTTP: []string{"api.example.com"}}).apply(old)
	require.NoError(t, err)
	old.AllowHTTP = allow
	_, allow, _, err = (&Settings{RevokeHTTP: []string{"api.example.com"}}).apply(old)
	require.NoError(t, err)
	require.Empty(t, allow, "the push has said that calls there are revoked")
}
