package conformance

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/tests/conformance/table"
)

// update sends the execution an update and checks the answer, if it has one; and once more with
// the same request id: that changes nothing.
func (b *testBundle) update(t *testing.T, execution string, s *table.Step) error {
	t.Helper()
	req := b.updateOf(execution, s)
	answer, err := b.answer(t, execution, req)
	again, repeated := b.answer(t, execution, req)
	require.Equal(t, abi.CodeOf(err), abi.CodeOf(repeated), "%v, and then %v", err, repeated)
	require.Equal(t, answer, again)
	if err == nil && s.Refused == "" {
		requireValue(t, s.Answer.Encode(b.places(execution)), answer)
	}
	return err
}

// updateLater sends the execution an update. The returned function waits for the answer, and checks it.
func (b *testBundle) updateLater(t *testing.T, execution string, s *table.Step) func() {
	t.Helper()
	b.await(t, execution, s)
	answered := make(chan struct{})
	var answer []byte
	var err error
	go func() {
		defer close(answered)
		answer, err = b.answer(t, execution, b.updateOf(execution, s))
	}()
	return func() {
		<-answered
		require.Equal(t, s.Refused, abi.CodeOf(err), "%v", err)
		if err == nil {
			requireValue(t, s.Answer.Encode(b.places(execution)), answer)
		}
	}
}

// updateOf is the update of a step. The id follows from the step: it is in the journal, which is
// the same in every variant.
func (b *testBundle) updateOf(execution string, s *table.Step) host.UpdateRequest {
	req := host.UpdateRequest{Name: s.Update}
	if !s.Value.IsZero() {
		req.Input = s.Value.Encode(b.places(execution))
	}
	req.RequestID = fmt.Sprintf("%s %x %x %s", s.Update, req.Input, s.Answer.Encode(b.places(execution)), s.Refused)
	return req
}

// answer is the answer to an update, or why there is none.
func (b *testBundle) answer(t *testing.T, execution string, req host.UpdateRequest) ([]byte, error) {
	outcome, err := b.engine.Executions().Update(t.Context(), "", execution, req)
	if err == nil && outcome.Error != nil {
		err = outcome.Error
	}
	return outcome.Value, err
}

// requirePublished checks all that can be seen of the execution.
func (b *testBundle) requirePublished(t *testing.T, execution string, want *table.Published) {
	t.Helper()
	row, err := b.engine.Observer().Poll(t.Context(), "", execution)
	require.NoError(t, err)
	got, err := b.engine.Observer().Published(t.Context(), row)
	require.NoError(t, err)
	require.Len(t, got.State, len(want.State))
	for _, p := range got.State {
		value := want.State[p.Name]
		requireValue(t, value.Encode(b.places(execution)), p.Value)
	}
	require.Len(t, got.Attributes, len(want.Attributes))
	for _, a := range got.Attributes {
		require.Equal(t, want.Attributes[a.Name], table.Attribute(a.Attribute), a.Name)
	}
	if want.Progress == nil {
		require.Nil(t, got.Progress)
		return
	}
	require.Equal(
		t, &abi.Progress{Done: want.Progress.Done, Note: want.Progress.Note, Total: want.Progress.Total}, got.Progress,
	)
}
