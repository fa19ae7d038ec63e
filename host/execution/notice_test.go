package execution

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/host/budget"
	"github.com/cruster/cruster/host/execution/task"
)

// TestRefuse answers every message that has a caller, and no other.
func TestRefuse(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	reply, asked := make(chan error, 1), make(chan inspected, 1)
	for _, m := range []notice{
		messageArrived{reply: reply},
		lookForMail{reply},
		endAwaited{reply},
		resumeRequest{reply},
		failRequest{reply: reply},
	} {
		require.True(t, refuse(m, refused), "%T", m)
		require.Equal(t, refused, <-reply, "%T", m)
	}
	require.True(t, refuse(inspectRequest{asked}, refused))
	require.Equal(t, refused, (<-asked).err)
	for _, m := range []notice{
		started{},
		wake{},
		ofTask{task.Done{}},
		ofTask{task.AttemptFailed{}},
		ofTask{task.Committed{}},
		ofTask{task.Void{}},
		ofTask{task.Dropped{}},
		messageArrived{},
		lookForMail{},
	} {
		require.False(t, refuse(m, refused), "%T", m)
	}
	refuseAll([]notice{wake{}, resumeRequest{reply}}, refused)
	require.Equal(t, refused, <-reply)
}

// TestRefusedArrivalsArePaidBack: notices that no run receives give their memory back.
func TestRefusedArrivalsArePaidBack(t *testing.T) {
	t.Parallel()
	b := budget.New(2)
	for _, arrival := range []func(paid *budget.Permit) notice{
		func(paid *budget.Permit) notice { return messageArrived{paid: paid} },
		func(paid *budget.Permit) notice { return resultSent{paid: paid} },
	} {
		paid, ok := b.TryAcquire(1)
		require.True(t, ok)
		refuseAll([]notice{ofChain{notice: arrival(paid)}}, errors.New("refused"))
		require.Zero(t, b.Used())
	}
}
