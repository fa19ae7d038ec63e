package grpcserver_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/host/entity/lock"
	"github.com/cruster/cruster/journal"
)

// fakeEntities is the part of the fake engine that serves entities.
type fakeEntities struct {
	call      func(ctx context.Context, req host.EntityRequest) (abi.Outcome, error) // if set, performs calls
	send      func(ctx context.Context)                                              // if set, is told of messages
	asked     []host.EntityRequest
	sent      []host.EntityRequest
	outcome   abi.Outcome
	err       error
	filter    journal.EntityFilter
	found     []journal.Entity
	destroyed []string
	locks     []host.EntityLock
	locked    journal.LockFilter
	unlocked  []string
	parked    []host.ParkedMessage
	parkedOf  journal.ParkedFilter
	unparked  []string
}

func (f *fakeEntities) Operation(_ context.Context, _, entityType, operation string) (*abi.OperationInfo, error) {
	if entityType != "bank/Account" {
		return nil, abi.Errorf(abi.CodeUnknownEntity, "no")
	}
	return &abi.OperationInfo{Name: operation, Input: &abi.Schema{Type: abi.TypeInt}}, nil
}

func (f *fakeEntities) Call(ctx context.Context, req host.EntityRequest) (abi.Outcome, error) {
	if f.call != nil {
		return f.call(ctx, req)
	}
	f.asked = append(f.asked, req)
	return f.outcome, f.err
}

func (f *fakeEntities) Send(ctx context.Context, req host.EntityRequest) error {
	if f.send != nil {
		f.send(ctx)
	}
	f.sent = append(f.sent, req)
	return f.err
}

func (f *fakeEntities) State(_ context.Context, _, entity string) (*journal.Entity, error) {
	return &journal.Entity{Type: "bank/Account", Key: entity, State: []byte{7}}, f.err
}

func (f *fakeEntities) List(_ context.Context, filter journal.EntityFilter) ([]journal.Entity, error) {
	f.filter = filter
	return f.found, f.err
}

func (f *fakeEntities) Destroy(_ context.Context, namespace, entity, requestID string) error {
	f.destroyed = []string{namespace, entity, requestID}
	return f.err
}

func (f *fakeEntities) Locks(
	_ context.Context, filter journal.LockFilter,
) ([]host.EntityLock, journal.ID, bool, error) {
	f.locked = filter
	return f.locks, journal.ID{7}, filter.After.IsZero(), f.err
}

func (f *fakeEntities) Unlock(_ context.Context, namespace, entity string) (string, error) {
	f.unlocked = []string{namespace, entity}
	return "bank/Transfer/1", f.err
}

func TestEntityLocks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entities := crusterv1.NewEntityServiceClient(b.conn)
	fake := &b.engine.entities
	fake.locks = []host.EntityLock{{
		HeldLock: journal.HeldLock{
			Lock:       journal.Lock{Namespace: "default", Type: "bank/Account", Key: "ada", Since: 5},
			HolderName: "bank/Transfer/1",
		},
		Waiters: []host.LockWaiter{{Waiter: lock.Waiter{Operation: "lock", Since: 6}, Execution: "bank/Transfer/2"}},
		Waiting: 3,
	}}
	resp, err := entities.ListEntityLocks(t.Context(), &crusterv1.ListEntityLocksRequest{PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, journal.LockFilter{Namespace: "default", Limit: 2}, fake.locked)
	lock := resp.GetLocks()[0]
	require.Equal(t, "bank/Account/ada bank/Transfer/1", lock.GetEntity()+" "+lock.GetHolder())
	require.EqualValues(t, 3, lock.GetWaiting())
	require.Equal(
		t, "bank/Transfer/2 lock", lock.GetWaiters()[0].GetExecution()+" "+lock.GetWaiters()[0].GetOperation(),
	)
	resp, err = entities.ListEntityLocks(
		t.Context(), &crusterv1.ListEntityLocksRequest{PageToken: resp.GetNextPageToken()},
	)
	require.NoError(t, err)
	require.Equal(t, journal.ID{7}, fake.locked.After)
	require.Empty(t, resp.GetNextPageToken())
	_, err = entities.ListEntityLocks(t.Context(), &crusterv1.ListEntityLocksRequest{PageToken: "07"})
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(err)))
	unlocked, err := entities.UnlockEntity(t.Context(), &crusterv1.UnlockEntityRequest{Entity: "bank/Account/ada"})
	require.NoError(t, err)
	require.Equal(t, "bank/Transfer/1", unlocked.GetHolder())
	require.Equal(t, []string{"default", "bank/Account/ada"}, fake.unlocked)
}

func TestEntityCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entities := crusterv1.NewEntityServiceClient(b.conn)
	fake := &b.engine.entities
	fake.outcome = abi.Outcome{Value: []byte{9}}
	operation := &crusterv1.Operation{
		Entity: "bank/Account/ada", Name: "deposit", Input: jsonPayload("5"), RequestId: "r",
	}
	resp, err := entities.CallEntity(t.Context(), &crusterv1.CallEntityRequest{Operation: operation})
	require.NoError(t, err)
	require.Equal(t, "9", resp.GetResult().GetJson())
	want := host.EntityRequest{
		Namespace: "default", Entity: "bank/Account/ada", Operation: "deposit", Input: []byte{5}, RequestID: "r",
	}
	require.Equal(t, []host.EntityRequest{want}, fake.asked)
	_, err = entities.SendToEntity(t.Context(), &crusterv1.SendToEntityRequest{Operation: operation})
	require.NoError(t, err)
	require.Equal(t, []host.EntityRequest{want}, fake.sent)

	fake.outcome = abi.Outcome{Error: abi.Errorf(abi.CodeOperationFailed, "no")}
	resp, err = entities.CallEntity(t.Context(), &crusterv1.CallEntityRequest{Operation: operation})
	require.NoError(t, err, "an operation that failed is an answer")
	require.Equal(t, string(abi.CodeOperationFailed), resp.GetError().GetCode())

	for input, code := range map[string]abi.Code{`"five"`: abi.CodeOperationInput, `{`: abi.CodeOperationInput} {
		_, err = entities.CallEntity(t.Context(), &crusterv1.CallEntityRequest{
			Operation: &crusterv1.Operation{Entity: "bank/Account/ada", Name: "deposit", Input: jsonPayload(input)},
		})
		require.Equal(t, code, abi.CodeOf(rpcerror.From(err)), input)
	}
	_, err = entities.CallEntity(t.Context(), &crusterv1.CallEntityRequest{
		Operation: &crusterv1.Operation{Entity: "ada", Name: "deposit", Input: jsonPayload("1")},
	})
	require.Equal(t, abi.CodeEntityName, abi.CodeOf(rpcerror.From(err)))
	fake.err = abi.Errorf(abi.CodeMailboxFull, "full")
	_, err = entities.CallEntity(t.Context(), &crusterv1.CallEntityRequest{
		Operation: &crusterv1.Operation{Entity: "bank/Account/ada", Name: "deposit"},
	})
	require.Equal(t, abi.CodeMailboxFull, abi.CodeOf(rpcerror.From(err)))
	require.Nil(t, fake.asked[len(fake.asked)-1].Input, "the engine knows what an absent input means")
}

func TestEntityPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entities := crusterv1.NewEntityServiceClient(b.conn)
	fake := &b.engine.entities
	fake.found = []journal.Entity{{Type: "bank/Account", Key: "a"}, {Type: "bank/Account", Key: "b"}}
	resp, err := entities.ListEntities(t.Context(), &crusterv1.ListEntitiesRequest{Type: "bank/Account", PageSize: 2})
	require.NoError(t, err)
	require.Len(t, resp.GetEntities(), 2)
	require.Nil(t, fake.filter.After)
	resp, err = entities.ListEntities(t.Context(), &crusterv1.ListEntitiesRequest{
		Type: "bank/Account", PageSize: 3, PageToken: resp.GetNextPageToken(),
	})
	require.NoError(t, err)
	require.Equal(t, &journal.Entity{Namespace: "default", Type: "bank/Account", Key: "b"}, fake.filter.After)
	require.Empty(t, resp.GetNextPageToken())
	_, err = entities.ListEntities(t.Context(), &crusterv1.ListEntitiesRequest{PageToken: "x"})
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(err)))

	state, err := entities.GetEntity(t.Context(), &crusterv1.GetEntityRequest{Entity: "bank/Account/a"})
	require.NoError(t, err)
	require.Equal(t, "7", state.GetState().GetJson())
	_, err = entities.DestroyEntity(
		t.Context(), &crusterv1.DestroyEntityRequest{Entity: "bank/Account/a", RequestId: "r"},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"default", "bank/Account/a", "r"}, fake.destroyed)
}
