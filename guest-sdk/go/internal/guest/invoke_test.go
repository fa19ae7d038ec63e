package guest

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
)

// silentHost performs nothing: it numbers ops, or refuses them.
type silentHost struct {
	refuse    *abi.Error
	ops       uint32
	cancelled []uint32
}

func (h *silentHost) Issue(*Call, []byte) (uint32, *abi.Error) {
	if h.refuse != nil {
		return 0, h.refuse
	}
	h.ops++
	return h.ops, nil
}

func (h *silentHost) Cancel(op uint32) { h.cancelled = append(h.cancelled, op) }

func (h *silentHost) Do(*Call, []byte) ([]byte, *abi.Error) { return nil, h.refuse }

func (h *silentHost) Log(int32, string) {}

func setup(t *testing.T, run func(Scope, []byte) ([]byte, error)) *Registry {
	t.Helper()
	r := &Registry{}
	r.AddWorkflow(&Workflow{
		Name: "w", KeyMode: abi.KeyFromFunctionRaw, Input: reflect.TypeFor[int](), Output: reflect.TypeFor[int](),
		Interrupted: &Call{Name: abi.OpInterrupted}, Run: run,
		Key: func(body []byte) ([]byte, error) {
			if len(body) == 0 {
				panic("no body")
			}
			return body, nil
		},
	})
	r.AddWorkflow(&Workflow{Name: "plain", Input: reflect.TypeFor[int](), Output: reflect.TypeFor[int]()})
	r.AddActivity(&Activity{
		Name:   "a",
		Input:  reflect.TypeFor[int](),
		Output: reflect.TypeFor[int](),
		Run:    func(_ Attempt, body []byte) ([]byte, error) { return body, nil },
	})
	return r
}

// startWorkflow starts run as a workflow whose panics are recovered, and closes it when the test ends.
func startWorkflow(t *testing.T, host Host, run func(Scope, []byte) ([]byte, error)) (*Execution, *abi.Outcome) {
	t.Helper()
	ex, out := setup(t, run).Start(
		host, abi.Invocation{Kind: abi.InvokeWorkflow, Name: "w"}, Options{RecoverPanics: true},
	)
	t.Cleanup(ex.Close)
	return ex, out
}

// sleepOnce is a workflow that waits for one op.
func sleepOnce(s Scope, _ []byte) ([]byte, error) {
	p := s.Issue(&Call{Name: abi.OpSleep}, Label{"Sleep", ""}, EncodeBody(abi.Sleep{}))
	if _, err := s.Await("Await", p); err != nil {
		return nil, err
	}
	_, _, err := p.Result()
	return abi.Nil, err
}

func TestUnknownNames(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	for kind, code := range map[string]abi.Code{
		abi.InvokeWorkflow: abi.CodeUnknownInvoke,
		abi.InvokeKey:      abi.CodeUnknownInvoke,
		abi.InvokeActivity: abi.CodeUnknownActivity,
		"entity":           abi.CodeUnknownInvoke,
	} {
		ex, out := r.Start(&silentHost{}, abi.Invocation{Kind: kind, Name: "missing"}, Options{})
		require.Nil(t, ex)
		require.Equal(t, code, out.Error.Code, kind)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	r := setup(t, nil)
	_, out := r.Start(nil, abi.Invocation{Kind: abi.InvokeKey, Name: "w", Body: []byte{0xa1, 'k'}}, Options{})
	require.Equal(t, []byte{0xa1, 'k'}, out.Value)
	_, out = r.Start(nil, abi.Invocation{Kind: abi.InvokeKey, Name: "w"}, Options{})
	require.Equal(t, abi.CodeKeyFunction, out.Error.Code)
	require.Contains(t, out.Error.Message, "invoke_test.go:")
	_, out = r.Start(nil, abi.Invocation{Kind: abi.InvokeKey, Name: "plain"}, Options{})
	require.Equal(t, abi.CodeUnknownInvoke, out.Error.Code)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	typed := &abi.Error{Type: "t", Message: "m", Retryable: true, Details: []byte{1}}
	sql := abi.Errorf(abi.CodeSQL, "constraint")
	for name, c := range map[string]struct {
		err  error
		want abi.Error
	}{
		"plain": {errors.New("x"), abi.Error{Code: abi.CodeActivityFailed, Message: "x", Retryable: true}},
		"typed": {
			typed,
			abi.Error{Code: abi.CodeActivityFailed, Message: "m", Type: "t", Details: []byte{1}, Retryable: true},
		},
		"wrapped": {
			fmt.Errorf("w: %w", typed),
			abi.Error{Code: abi.CodeActivityFailed, Message: "w: m", Type: "t", Details: []byte{1}, Retryable: true},
		},
		"final": {
			&NonRetryable{typed}, abi.Error{Code: abi.CodeActivityFailed, Message: "m", Type: "t", Details: []byte{1}},
		},
		"host":       {sql, abi.Error{Code: abi.CodeSQL, Message: "constraint", Retryable: sql.Retryable}},
		"host final": {&NonRetryable{sql}, abi.Error{Code: abi.CodeSQL, Message: "CR-3101: constraint"}},
	} {
		got := ActivityError(c.err)
		got.Hint = ""
		require.Equal(t, c.want, *got, name)
	}
	require.Equal(
		t, "CR-3002: late", NewError(abi.CodeWorkflowFailed, abi.Errorf(abi.CodeActivityTimeout, "late")).Message,
	)
}
