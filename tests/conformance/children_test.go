package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
)

func childCases() []testCase {
	refused := func(code abi.Code) object { return object{"code": string(code)} }
	awaited := object{"value": "go on"}
	return []testCase{
		{name: "child", workflow: "Call", input: 21, want: object{"value": 42}, journal: []string{"call Double"}},
		{name: "child fails", workflow: "Call", input: -1, want: object{"code": "CR-2006", "type": "negative", "text": "CR-2006: -1 is negative"}, journal: []string{"call Double CR-2006"}},
		{name: "many children", workflow: "CallMany", input: 20, want: 2 * (20*1000 + 190)},
		{name: "children with keys", workflow: "CallKeys", input: "fixed", want: []any{0, 0, 4, 4, "conformance/Double/fixed"},
			journal: []string{"call Double", "call Double", "call Double", "call Double", "send Double"}},
		{name: "child followed", workflow: "Follow", input: "followed",
			want: []any{"conformance/Await/followed", "running", false, awaited, "completed", true, awaited}},
		{name: "call to itself", workflow: "CallItself", input: object{}, want: []object{refused(abi.CodeCallToItself), refused(abi.CodeCallToItself)}},
		{name: "calls that cannot be", workflow: "CallWrong", input: object{}, want: []object{
			refused(abi.CodeDeploymentNotFound), refused(abi.CodeUnknownWorkflow), refused(abi.CodeBadInput), refused(abi.CodeBadKey),
			refused(abi.CodeExecutionNotFound), refused(abi.CodeExecutionNotFound), refused(abi.CodeExecutionNotFound),
		}},
	}
}

// TestKeys shows how the key of a start comes about, and that a second start
// finds the first.
func TestKeys(t *testing.T) {
	t.Parallel()
	for _, kind := range harness.StoreKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := setup(t, kind)
			request := harness.Encode(t, object{"id": "order 7", "other": 1})
			other := harness.Encode(t, object{"id": "order 7", "other": 2})
			hashOfRequest, err := abi.Hash(request)
			require.NoError(t, err)
			for _, c := range []struct {
				name string
				req  host.StartRequest
				want string
			}{
				{"default", host.StartRequest{Workflow: "conformance/EchoAnything", Input: request}, ""},
				{"of the request", host.StartRequest{Workflow: "conformance/Echo", Input: request}, hashOfRequest},
				{"of a function, hashed", host.StartRequest{Workflow: "conformance/HashedKey", Input: request}, abi.HashString("order 7")},
				{"of a function, raw", host.StartRequest{Workflow: "conformance/RawKey", Input: request}, "order 7"},
				{"given, hashed", host.StartRequest{Workflow: "conformance/RawKey", Input: request, Key: "k", KeyMode: abi.KeyHashed}, abi.HashString("k")},
				{"given, raw", host.StartRequest{Workflow: "conformance/RawKey", Input: request, Key: "k/with/slashes", KeyMode: abi.KeyRaw}, "k/with/slashes"},
			} {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					row, existed, err := b.engine.StartWorkflow(t.Context(), c.req)
					if c.want == "" {
						require.Equal(t, abi.CodeUnknownWorkflow, abi.CodeOf(err), "%v", err)
						return
					}
					require.NoError(t, err)
					require.False(t, existed)
					require.Equal(t, c.want, row.Key)
					first := harness.Wait(t, b.engine, row.Name())
					require.Equal(t, journal.Completed, first.State, "%v", first.Error)
					if c.name != "of the request" {
						c.req.Input = other
					}
					again, existed, err := b.engine.StartWorkflow(t.Context(), c.req)
					require.NoError(t, err)
					require.True(t, existed, "the second start found nothing")
					require.Equal(t, first.Value, again.Value, "the second start has the result of the first")
				})
			}
			for name, c := range map[string]struct {
				req  host.StartRequest
				code abi.Code
			}{
				"raw key function returns nothing": {host.StartRequest{Workflow: "conformance/RawKey", Input: harness.Encode(t, object{"id": "", "other": 1})}, abi.CodeBadKey},
				"key function panics":              {host.StartRequest{Workflow: "conformance/RawKey", Input: harness.Encode(t, object{"id": "panic", "other": 1})}, abi.CodeKeyFunction},
				"request does not fit":             {host.StartRequest{Workflow: "conformance/RawKey", Input: harness.Encode(t, object{"id": 5, "other": 1})}, abi.CodeBadInput},
			} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					_, _, err := b.engine.StartWorkflow(t.Context(), c.req)
					require.Equal(t, c.code, abi.CodeOf(err), "%v", err)
				})
			}
		})
	}
}
