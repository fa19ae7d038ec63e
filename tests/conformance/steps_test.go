package conformance

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/execution"
	"github.com/cruster/cruster/internal/harness"
	"github.com/cruster/cruster/journal"
	"github.com/cruster/cruster/tests/conformance/table"
)

// take performs a step of a case, as a client of the host.
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
	case s.Published != nil:
		b.requirePublished(t, execution, s.Published)
	default:
		err := b.tell(t, execution, s)
		switch {
		case s.Refused != "":
			require.Equal(t, s.Refused, abi.CodeOf(err), "%v", err)
		case s.May != "" && err != nil:
			require.Equal(t, s.May, abi.CodeOf(err), "%v", err)
		default:
			require.NoError(t, err)
		}
	}
}

// await waits for the events that must precede the step.
func (b *testBundle) await(t *testing.T, execution string, s *table.Step) {
	t.Helper()
	if s.Op != "" {
		kind, name, _ := strings.Cut(s.Op, " ")
		harness.Pending(t, b.engine, execution, kind, name)
	}
	if s.Delivered != nil {
		harness.Eventually(t, "the previous step is delivered", func() bool {
			d, err := b.engine.Observer().Describe(t.Context(), "", execution)
			if err != nil || d.Entries != *s.Delivered {
				return false
			}
			return s.Pending == 0 || len(d.Pending) == s.Pending && d.Pending[0].Kind == abi.OpInterrupted
		})
	}
	if s.Alone != nil {
		require.Equal(t, s.Alone, b.pendingKinds(t, execution), "the workflow must wait for nothing else")
	}
}

// pendingKinds are the kinds of all ops that an execution waits for, when it is not in a turn.
func (b *testBundle) pendingKinds(t *testing.T, name string) (kinds []string) {
	t.Helper()
	harness.Eventually(t, "the turn is over", func() bool {
		d, err := b.engine.Observer().Describe(t.Context(), "", name)
		require.NoError(t, err)
		kinds = nil
		for _, p := range d.Pending {
			kinds = append(kinds, p.Kind)
		}
		return !slices.Contains(kinds, execution.KindTurn)
	})
	return kinds
}

// tell settles a deferred of the execution, sends it a signal or an update, asks it, or interrupts
// it; or it sends an entity a message.
func (b *testBundle) tell(t *testing.T, execution string, s *table.Step) error {
	switch {
	case s.Resolve != "":
		return b.engine.Executions().Settle(t.Context(), "", execution, journal.Deferred{
			Name: s.Resolve, Value: s.Value.Encode(b.places(execution)),
		})
	case s.Reject != "":
		return b.engine.Executions().Settle(t.Context(), "", execution, journal.Deferred{
			Name: s.Reject, Error: s.Error.ABI(""),
		})
	case s.Signal != "":
		return b.engine.Executions().Signal(t.Context(), "", execution, host.SignalRequest{
			Name: s.Signal, Value: s.Value.Encode(b.places(execution)),
		})
	case s.Query != "":
		return b.query(t, execution, s)
	case s.Update != "":
		return b.update(t, execution, s)
	case s.Send != "":
		return b.engine.Entities().Send(t.Context(), b.operation(s))
	default:
		return b.engine.Executions().Interrupt(t.Context(), "", execution, s.Interrupt)
	}
}

// query asks the execution a question and checks the answer, if it has one.
func (b *testBundle) query(t *testing.T, execution string, s *table.Step) error {
	t.Helper()
	req := host.QueryRequest{Name: s.Query}
	if !s.Value.IsZero() {
		req.Input = s.Value.Encode(b.places(execution))
	}
	answer, err := b.engine.Executions().Query(t.Context(), "", execution, req)
	if err == nil && s.Refused == "" {
		requireValue(t, s.Answer.Encode(b.places(execution)), answer)
	}
	return err
}

// startOther starts another workflow and waits for its end.
func (b *testBundle) startOther(t *testing.T, execution string, s *table.Step) {
	t.Helper()
	row, _, err := b.engine.Launcher().Start(t.Context(), host.StartRequest{
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
		outcome, err := b.engine.Entities().Call(t.Context(), req)
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

// operation is a step's request to an entity.
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
