package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/abi/hash"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

// TestKeys shows how the key of a start is derived, and that a second start finds the first. The test knows the
// expected keys, so they are the same in every language.
func TestKeys(t *testing.T) {
	t.Parallel()
	eachSetting(t, func(t *testing.T, l language, kind string) {
		b := setup(t, l, kind, nil)
		keysFound(t, b)
		keysRefused(t, b)
	})
}

func keysFound(t *testing.T, b *testBundle) {
	request := harness.Encode(t, object{"id": "order 7", "other": 1})
	other := harness.Encode(t, object{"id": "order 7", "other": 2})
	scripts := harness.Encode(t, object{"id": "Grüße/世界 🌍", "other": 1})
	for _, c := range []struct {
		name string
		req  host.StartRequest
		want string
	}{
		{
			"of the request",
			host.StartRequest{Workflow: "conformance/Echo", Input: request},
			"96dcc23f72b2e55e2a9b9a6f2756b7fd4a6345f889ccc12cef160ce7262fb270",
		},
		{
			"of a function, hashed",
			host.StartRequest{Workflow: "conformance/HashedKey", Input: request},
			hash.OfString("order 7"),
		},
		{"of a function, raw", host.StartRequest{Workflow: "conformance/RawKey", Input: request}, "order 7"},
		{
			"of a function, hashed, of all scripts",
			host.StartRequest{Workflow: "conformance/HashedKey", Input: scripts},
			hash.OfString("Grüße/世界 🌍"),
		},
		{
			"of a function, raw, of all scripts",
			host.StartRequest{Workflow: "conformance/RawKey", Input: scripts},
			"Grüße/世界 🌍",
		},
		{
			"given, hashed",
			host.StartRequest{Workflow: "conformance/RawKey", Input: request, Key: "k", KeyMode: abi.KeyHashed},
			hash.OfString("k"),
		},
		{
			"given, raw",
			host.StartRequest{
				Workflow: "conformance/RawKey", Input: request, Key: "k/with/slashes", KeyMode: abi.KeyRaw,
			},
			"k/with/slashes",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			row, existed, err := b.engine.Launcher().Start(t.Context(), c.req)
			require.NoError(t, err)
			require.False(t, existed)
			require.Equal(t, c.want, row.Key)
			first := harness.Wait(t, b.engine, row.Name())
			require.Equal(t, journal.Completed, first.State, "%v", first.Error)
			if c.name != "of the request" && string(c.req.Input) == string(request) {
				c.req.Input = other
			}
			again, existed, err := b.engine.Launcher().Start(t.Context(), c.req)
			require.NoError(t, err)
			require.True(t, existed, "the second start must find the first execution")
			require.Equal(t, first.Value, again.Value, "the second start must have the result of the first")
		})
	}
}

func keysRefused(t *testing.T, b *testBundle) {
	for name, c := range map[string]struct {
		workflow string
		input    any
		code     abi.Code
		text     string
		place    string
	}{
		"raw key function returns nothing": {"RawKey", object{"id": "", "other": 1}, abi.CodeBadKey, "", ""},
		"key function panics": {
			"RawKey",
			object{"id": "panic", "other": 1},
			abi.CodeKeyFunction, "no key for this",
			`children\.(go|rs):[0-9]+`,
		},
		"request does not fit": {"RawKey", object{"id": 5, "other": 1}, abi.CodeBadInput, "", ""},
		"unknown workflow":     {"EchoAnything", object{"id": "order 7", "other": 1}, abi.CodeUnknownWorkflow, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := b.engine.Launcher().Start(t.Context(), host.StartRequest{
				Workflow: "conformance/" + c.workflow, Input: harness.Encode(t, c.input),
			})
			require.Equal(t, c.code, abi.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, c.text)
			require.Regexp(t, c.place, err.Error())
		})
	}
}
