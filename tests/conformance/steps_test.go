package conformance

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/tests/conformance/table"
)

// take does what a step of a case says, as a client of the host.
func (b *testBundle) take(t *testing.T, execution string, s *table.Step) {
	t.Helper()
	b.await(t, execution, s)
	switch {
	case s.Open != "":
		b.outside.open(b, execution, s.Open)
	case s.Start != "":
		b.startOther(t, execution, s)
	case s.Call != "":
		b.call(t, s)
	default:
		err := b.tell(t, execution, s)
		switch {
		case s.Refused != "" && !s.Later:
			require.Equal(t, s.Refused, abi.CodeOf(err), "%v", err)
		case s.May != "" && err != nil:
			require.Equal(t, s.May, abi.CodeOf(err), "%v", err)
		default:
			require.NoError(t, err)
		}
	}
}

// await waits for what must have happened before the step.
func (b *testBundle) await(t *testing.T, execution string, s *table.Step) {
	t.Helper()
	if s.Op != "" {
		kind, name, _ := strings.Cut(s.Op, " ")
		harness.Pending(t, b.engine, execution, kind, name)
	}
	if s.Delivered != nil {
		harness.Eventually(t, "the previous step is delivered", func() bool {
			d, err := b.engine.Describe(t.Context(), "", execution)
			if err != nil || d.Entries != *s.Delivered {
				return false
			}
			return s.Pending == 0 || len(d.Pending) == s.Pending && d.Pending[0].Kind == abi.OpInterrupted
		})
	}
	if s.Alone != nil {
		d, err := b.engine.Describe(t.Context(), "", execution)
		require.NoError(t, err)
		var kinds []string
		for _, p := range d.Pending {
			kinds = append(kinds, p.Kind)
		}
		require.Equal(t, s.Alone, kinds, "the workflow must wait for nothing else")
	}
}

// tell settles a deferred of the execution, sends it a signal, asks it, or interrupts it; or it
// sends an entity a message.
func (b *testBundle) tell(t *testing.T, execution string, s *table.Step) error {
	switch {
	case s.Resolve != "":
		return b.engine.Settle(t.Context(), "", execution, journal.Deferred{Name: s.Resolve, Value: s.Value.Encode(b.places(execution))})
	case s.Reject != "":
		return b.engine.Settle(t.Context(), "", execution, journal.Deferred{Name: s.Reject, Error: s.Error.ABI("")})
	case s.Signal != "":
		return b.engine.Signal(t.Context(), "", execution, host.SignalRequest{Name: s.Signal, Value: s.Value.Encode(b.places(execution))})
	case s.Query != "":
		return b.query(t, execution, s)
	case s.Update != "":
		return b.update(t, execution, s)
	case s.Published != nil:
		b.requirePublished(t, execution, s.Published)
		return nil
	case s.Send != "":
		return b.engine.SendEntity(t.Context(), b.operation(s))
	default:
		return b.engine.Interrupt(t.Context(), "", execution, s.Interrupt)
	}
}

// query asks the execution a question and checks the answer, if it has one.
func (b *testBundle) query(t *testing.T, execution string, s *table.Step) error {
	t.Helper()
	req := host.QueryRequest{Name: s.Query}
	if !s.Value.IsZero() {
		req.Input = s.Value.Encode(b.places(execution))
	}
	answer, err := b.engine.Query(t.Context(), "", execution, req)
	if err == nil && s.Refused == "" {
		requireValue(t, s.Answer.Encode(b.places(execution)), answer)
	}
	return err
}

// update sends an update, and once more with the same request id: the answer is the same. With
// Later the answer is awaited beside the rest of the case.
func (b *testBundle) update(t *testing.T, execution string, s *table.Step) error {
	t.Helper()
	count, _ := b.updates.LoadOrStore(execution, new(atomic.Int64))
	// The journal has the id: it is the same in all variants.
	req := host.UpdateRequest{Name: s.Update, RequestID: fmt.Sprint(execution, " ", count.(*atomic.Int64).Add(1))}
	if !s.Value.IsZero() {
		req.Input = s.Value.Encode(b.places(execution))
	}
	ctx := context.WithoutCancel(t.Context()) // it is answered by the end of the execution
	answer := func() error {
		outcome, err := b.engine.Update(ctx, "", execution, req)
		switch {
		case err != nil:
			return err
		case outcome.Error != nil:
			return outcome.Error
		case s.Refused == "":
			requireValue(t, s.Answer.Encode(b.places(execution)), outcome.Value)
		}
		return nil
	}
	if s.Later {
		told := make(chan error, 1)
		go func() { told <- answer() }()
		t.Cleanup(func() { require.Equal(t, s.Refused, abi.CodeOf(<-told), "the answer to %s", s.Update) })
		return nil
	}
	err := answer()
	require.Equal(t, abi.CodeOf(err), abi.CodeOf(answer()), "asked again, the answer is the same")
	return err
}

// requirePublished checks all that can be seen of the execution.
func (b *testBundle) requirePublished(t *testing.T, execution string, want *table.Published) {
	t.Helper()
	row, err := b.engine.Poll(t.Context(), "", execution)
	require.NoError(t, err)
	p, err := b.engine.Published(t.Context(), row)
	require.NoError(t, err)
	require.Len(t, p.State, len(want.State))
	for _, s := range p.State {
		value, there := want.State[s.Name]
		require.True(t, there, s.Name)
		requireValue(t, value.Encode(b.places(execution)), s.Value)
	}
	require.Len(t, p.Attributes, len(want.Attributes))
	for _, a := range p.Attributes {
		require.EqualValues(t, want.Attributes[a.Name], table.Attribute(a.Attribute), a.Name)
	}
	if want.Progress == nil {
		require.Nil(t, p.Progress)
		return
	}
	require.Equal(t, &abi.Progress{Done: want.Progress.Done, Total: want.Progress.Total, Note: want.Progress.Note}, p.Progress)
}

// startOther starts another workflow and waits for its end.
func (b *testBundle) startOther(t *testing.T, execution string, s *table.Step) {
	t.Helper()
	row, _, err := b.engine.StartWorkflow(t.Context(), host.StartRequest{
		Workflow: "conformance/" + s.Start, Input: s.Value.Encode(b.places(execution)),
	})
	require.NoError(t, err)
	other := harness.Wait(t, b.engine, row.Name())
	require.Equal(t, journal.Completed, other.State, "%v", other.Error)
	b.requireOneOf(t, execution, s, other.Value)
}

func (b *testBundle) requireOneOf(t *testing.T, execution string, s *table.Step, value []byte) {
	t.Helper()
	var wanted []any
	for _, v := range s.OneOf {
		wanted = append(wanted, harness.Decode[any](t, v.Encode(b.places(execution))))
	}
	require.Contains(t, wanted, harness.Decode[any](t, value))
}

// call calls an entity, and once more with the same request id: that changes nothing.
func (b *testBundle) call(t *testing.T, s *table.Step) {
	t.Helper()
	req := b.operation(s)
	req.RequestID = rand.Text()
	for range 2 {
		outcome, err := b.engine.CallEntity(t.Context(), req)
		if s.Refused != "" {
			if err == nil && outcome.Error != nil {
				err = outcome.Error
			}
			require.Equal(t, s.Refused, abi.CodeOf(err), "%v", err)
			continue
		}
		require.NoError(t, err)
		require.Nil(t, outcome.Error)
		b.requireOneOf(t, "", s, outcome.Value)
	}
}

// operation is what a step asks of an entity.
func (b *testBundle) operation(s *table.Step) host.EntityRequest {
	entity, operation := s.Operation("conformance")
	return host.EntityRequest{Entity: entity, Operation: operation, Input: s.Value.Encode(b.places(""))}
}

// places are the parts of values that differ from run to run.
func (b *testBundle) places(execution string) table.Places {
	p := table.Places{Execution: execution}
	if b.outside != nil {
		p.Outside = b.outside.url
	}
	return p
}
