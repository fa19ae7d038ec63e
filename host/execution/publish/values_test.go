package publish

import (
	"context"
	"strings"
	"testing"

	"github.com/jonboulle/clockwork"
	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// declared is a workflow that declares two values of its state.
type declared struct{}

func (declared) Workflow(context.Context, *journal.Execution) (*abi.WorkflowInfo, error) {
	return &abi.WorkflowInfo{State: []abi.StateInfo{{Name: "a"}, {Name: "b"}}}, nil
}

// stored are the values in the store, and how often they were read.
type stored struct {
	values journal.Published
	reads  int
}

func (s *stored) Published(context.Context, *journal.Execution) (*journal.Published, error) {
	s.reads++
	return &s.values, nil
}

// TestValues publishes one value after the other: the store is read once, and only changes are written.
func TestValues(t *testing.T) {
	t.Parallel()
	one, two := abi.MustMarshal(1), abi.MustMarshal(strings.Repeat("x", maxKept))
	row, store := &journal.Execution{}, &stored{}
	v := NewValues(Publisher{Clock: clockwork.NewFakeClock(), Workflows: declared{}}, store)
	publish := func(turn *journal.Published, name string, value []byte) *journal.Published {
		body := &abi.Publish{State: []abi.Published{{Name: name, Value: value}}}
		changed, refused, err := v.Changed(t.Context(), row, turn, body)
		require.NoError(t, err)
		require.Nil(t, refused)
		return changed
	}
	first := publish(nil, "a", one)
	require.Equal(t, []abi.Published{{Name: "a", Value: one}}, first.State)
	require.Nil(t, publish(first, "a", one), "it stays as it is")
	v.Took(&journal.Write{Publish: first})
	require.Nil(t, publish(nil, "a", one))
	require.Equal(t, 1, store.reads, "the copy that is kept equals the store")

	second := publish(nil, "b", two)
	require.Len(t, second.State, 2)
	store.values = *second
	v.Took(&journal.Write{Publish: second})
	require.Nil(t, publish(nil, "b", two))
	require.Equal(t, 2, store.reads, "it is too large to be kept")

	_, refused, err := v.Changed(t.Context(), row, nil, &abi.Publish{State: []abi.Published{{Name: "c", Value: one}}})
	require.NoError(t, err)
	require.NotNil(t, refused, "it is not declared")
}
