package entity

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// parked are the parked messages of a counter, each with the code of its reason.
func (f *fixture) parked(key string) (names []string) {
	f.t.Helper()
	ref := refTo(key)
	found, err := f.store.Parked(context.Background(), journal.ParkedFilter{Namespace: ref.Namespace, Type: ref.Type, Key: ref.Key})
	require.NoError(f.t, err)
	for i := range found {
		names = append(names, found[i].Message.Name+" "+string(found[i].Reason.Code))
	}
	return names
}

// waitingMail are the names of the messages in the inbox of a counter.
func (f *fixture) waitingMail(key string) (names []string) {
	f.t.Helper()
	envelopes, err := f.store.Inbox(context.Background(), journal.Receiver{ID: refTo(key).ID()}, 0)
	require.NoError(f.t, err)
	for i := range envelopes {
		names = append(names, envelopes[i].Name)
	}
	return names
}

// TestCrashingMessageIsParked: a message whose operation crashes, or does not end, is kept with its
// reason. What was sent before and after it is performed, and an error that an operation returns is
// its outcome.
func TestCrashingMessageIsParked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.hold() // so that all of them are in one batch
			for i, req := range []CallRequest{add("a", 1), operation("a", "crash"), add("a", 2), operation("a", "spin"), operation("a", "fail"), add("a", 4)} {
				require.NoError(t, f.x.Send(t.Context(), req.by(origin(byte(i+1)))))
			}
			f.release()
			synctest.Wait()
			require.EqualValues(t, 8, f.value(f.x.Call(t.Context(), add("a", 1))))
			require.Equal(t, []string{"crash CR-6007", "spin CR-6007"}, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
			receipt, err := f.store.Receipt(t.Context(), refTo("a").ID(), origin(5))
			require.NoError(t, err)
			require.Equal(t, abi.CodeOperationFailed, receipt.Error.Code)
			_, err = f.store.Receipt(t.Context(), refTo("a").ID(), origin(2))
			require.ErrorIs(t, err, journal.ErrNotFound, "it has no outcome")
		})
	})
}

// TestRefusedStartIsParked: a workflow that cannot be started is kept, and the others are started.
func TestRefusedStartIsParked(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, kind string) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, kind)
			f.unstartable = map[string]error{"1": abi.Errorf(abi.CodeUnknownWorkflow, "it is gone")}
			_, err := f.x.Call(t.Context(), sends("a", sendsInput{Started: []abi.Call{{Workflow: "Pay", Key: "1"}, {Workflow: "Pay", Key: "2"}}}))
			require.NoError(t, err)
			synctest.Wait()
			require.Equal(t, []string{"default bank/Pay/2"}, f.started)
			require.Equal(t, []string{"Pay CR-2001"}, f.parked("a"))
			require.Empty(t, f.waitingMail("a"))
		})
	})
}
