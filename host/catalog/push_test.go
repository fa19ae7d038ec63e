package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// at is a clock that stands still.
func at(now int64) func() int64 { return func() int64 { return now } }

// A deployment is dated when it takes effect, not when the upload of its module arrived.
func TestPushIsDatedWhenItTakesEffect(t *testing.T) {
	t.Parallel()
	now := int64(1)
	req := PushRequest{
		Namespace: "default",
		Name:      "tiny",
		Binary:    oneWorkflow,
		Accept: func(context.Context, *abi.Manifest) error {
			now = 5 // it has compiled the module by then
			return nil
		},
	}
	info, err := newCatalog(t, newStore()).Push(t.Context(), req, func() int64 { return now })
	require.NoError(t, err)
	require.EqualValues(t, 5, info.UpdatedAt)
}

func TestPush(t *testing.T) {
	t.Parallel()
	store := newStore()
	c := newCatalog(t, store)
	push := func(config map[string]string) *DeploymentInfo {
		info, err := c.Push(
			t.Context(),
			PushRequest{Namespace: "default", Name: "tiny", Binary: oneWorkflow, Settings: Settings{Config: config}},
			at(7),
		)
		require.NoError(t, err)
		return info
	}
	first := push(map[string]string{"rate": "1"})
	require.EqualValues(t, 1, first.Version)
	require.EqualValues(t, 7, first.UpdatedAt)
	second := push(map[string]string{"rate": "2"})
	require.EqualValues(t, 2, second.Version)

	// The caches and the store agree, also for a catalog that starts empty.
	for _, c := range []*Catalog{c, newCatalog(t, store)} {
		d, err := c.Deployment(t.Context(), "default", "tiny")
		require.NoError(t, err)
		require.Equal(t, "2", d.Config["rate"])
		info, err := c.Describe(t.Context(), "default", "tiny")
		require.NoError(t, err)
		require.Equal(t, second, info)
		list, err := c.List(t.Context(), "default")
		require.NoError(t, err)
		require.Equal(t, []DeploymentInfo{*second}, list)
	}
	list, err := c.List(t.Context(), "elsewhere")
	require.NoError(t, err)
	require.Empty(t, list)
}

// TestRememberKeepsTheLatest has a slow reader bring an older version.
func TestRememberKeepsTheLatest(t *testing.T) {
	t.Parallel()
	c := newCatalog(t, newStore())
	info, err := c.Push(t.Context(), PushRequest{Namespace: "default", Name: "tiny", Binary: oneWorkflow}, at(1))
	require.NoError(t, err)
	older := info.Deployment
	older.Version, older.Digest = 0, "older"
	d, err := c.remember(older, 0)
	require.NoError(t, err)
	require.Equal(t, info.Digest, d.Digest)
}

func TestPushRefuses(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range maxConfigValues + 1 {
		many[fmt.Sprintf("v%d", i)] = ""
	}
	store := newStore()
	c := newCatalog(t, store)
	for name, req := range map[string]PushRequest{
		"no name":           {},
		"an upper-case one": {Name: "Tiny"},
		"too many values":   {Name: "tiny", Settings: Settings{Config: many}},
		"a bad value name":  {Name: "tiny", Settings: Settings{Config: map[string]string{"a b": ""}}},
		"too long a value": {
			Name: "tiny", Settings: Settings{Config: map[string]string{"a": strings.Repeat("x", maxConfigBytes+1)}},
		},
		"a bad grant": {Name: "tiny", Settings: Settings{AllowHTTP: []string{"ftp://example.com"}}},
	} {
		req.Namespace, req.Binary = "default", oneWorkflow
		_, err := c.Push(t.Context(), req, at(1))
		require.Equal(t, abi.CodeBadDeployment, abi.CodeOf(err), "%s: %v", name, err)
	}
	list, err := c.List(t.Context(), "default")
	require.NoError(t, err)
	require.Empty(t, list, "nothing was stored")
}
