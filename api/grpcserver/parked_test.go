package grpcserver_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
	"github.com/cruster/cruster/journal"
)

func (f *fakeEntities) Parked(_ context.Context, filter journal.ParkedFilter) ([]host.ParkedMessage, error) {
	f.parkedOf = filter
	return f.parked, f.err
}

func (f *fakeEntities) CountParked(context.Context, string, string) (int, error) {
	return len(f.parked), nil
}

func (f *fakeEntities) RetryParked(_ context.Context, namespace, entity string, positions []uint64) (int, error) {
	f.unparked = append(f.unparked, fmt.Sprint("retry ", namespace, " ", entity, " ", positions))
	return 3, f.err
}

func (f *fakeEntities) DropParked(_ context.Context, namespace, entity string, positions []uint64) (int, error) {
	f.unparked = append(f.unparked, fmt.Sprint("drop ", namespace, " ", entity, " ", positions))
	return 4, f.err
}

func TestParkedMessages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entities := crusterv1.NewEntityServiceClient(b.conn)
	fake := &b.engine.entities
	fake.parked = []host.ParkedMessage{{
		ParkedMessage: journal.ParkedMessage{
			Parked: journal.Parked{
				Position:  7,
				Namespace: "default",
				Type:      "bank/Account",
				Key:       "ada",
				At:        5,
				Attempts:  3,
				Reason:    abi.Errorf(abi.CodeOperationCrashed, "it crashed"),
			},
			Message: journal.Envelope{Kind: journal.CallMessage, Name: "deposit", At: 4, Bytes: 9, Position: 7},
		},
		Sender: "bank/Transfer/1",
	}}
	resp, err := entities.ListParkedMessages(
		t.Context(), &crusterv1.ListParkedMessagesRequest{PageSize: 1, Type: "bank/"},
	)
	require.NoError(t, err)
	require.Equal(t, journal.ParkedFilter{Namespace: "default", Type: "bank/", Limit: 1}, fake.parkedOf)
	m := resp.GetMessages()[0]
	require.Equal(t, "bank/Account/ada call deposit CR-6007 bank/Transfer/1",
		m.GetEntity()+" "+m.GetKind()+" "+m.GetName()+" "+m.GetReason().GetCode()+" "+m.GetSender())
	require.EqualValues(t, 7, m.GetPosition())
	require.Equal(t, []int32{3, 4, 5}, []int32{m.GetAttempts(), m.GetSendTime().GetNanos(), m.GetParkTime().GetNanos()})
	require.EqualValues(t, 9, m.GetBytes())
	resp, err = entities.ListParkedMessages(t.Context(), &crusterv1.ListParkedMessagesRequest{
		Entity: "bank/Account/a/b", PageToken: resp.GetNextPageToken(),
	})
	require.NoError(t, err)
	require.Equal(t, journal.ParkedFilter{
		Entity: journal.EntityID("default", "bank/Account", "a/b"), Limit: 100,
		After: &journal.Parked{Namespace: "default", Type: "bank/Account", Key: "ada", Position: 7},
	}, fake.parkedOf)
	require.Empty(t, resp.GetNextPageToken())
	fake.parked[0].Namespace, fake.parked[0].Type, fake.parked[0].Key = "", "", ""
	resp, err = entities.ListParkedMessages(
		t.Context(), &crusterv1.ListParkedMessagesRequest{Entity: "bank/Account/a/b"},
	)
	require.NoError(t, err)
	require.Equal(
		t, "bank/Account/a/b", resp.GetMessages()[0].GetEntity(), "a damaged message does not say whose it is",
	)
	for name, req := range map[string]*crusterv1.ListParkedMessagesRequest{
		"token": {PageToken: "07"},
		"page":  {PageSize: 1001},
		"both":  {Type: "bank/Account", Entity: "bank/Account/ada"},
	} {
		_, err = entities.ListParkedMessages(t.Context(), req)
		require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(err)), name)
	}
	state, err := entities.GetEntity(t.Context(), &crusterv1.GetEntityRequest{Entity: "bank/Account/ada"})
	require.NoError(t, err)
	require.EqualValues(t, 1, state.GetParked())
}

func TestUnpark(t *testing.T) {
	t.Parallel()
	b := setup(t)
	entities := crusterv1.NewEntityServiceClient(b.conn)
	retried, err := entities.RetryParkedMessages(t.Context(), &crusterv1.RetryParkedMessagesRequest{
		Entity: "bank/Account/ada", Positions: []uint64{1, 2},
	})
	require.NoError(t, err)
	require.EqualValues(t, 3, retried.GetMessages())
	dropped, err := entities.DropParkedMessages(t.Context(), &crusterv1.DropParkedMessagesRequest{
		Namespace: "shop", Entity: "bank/Account/ada", All: true,
	})
	require.NoError(t, err)
	require.EqualValues(t, 4, dropped.GetMessages())
	require.Equal(
		t, []string{"retry default bank/Account/ada [1 2]", "drop shop bank/Account/ada []"},
		b.engine.entities.unparked,
	)
	_, err = entities.DropParkedMessages(t.Context(), &crusterv1.DropParkedMessagesRequest{Entity: "bank/Account/ada"})
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(err)), "all have to be asked for")
	_, err = entities.RetryParkedMessages(t.Context(), &crusterv1.RetryParkedMessagesRequest{
		Entity: "bank/Account/ada", Positions: []uint64{1}, All: true,
	})
	require.Equal(t, abi.CodeBadRequest, abi.CodeOf(rpcerror.From(err)))
}
