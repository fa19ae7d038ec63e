package cli

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// fakeEntities has accounts. Their ids determine the outcome of a request.
type fakeEntities struct {
	crusterv1.UnimplementedEntityServiceServer
	host *fakeHost
}

// Call answers at once; for eve, which is locked, after two looks at the locks.
func (f fakeEntities) CallEntity(
	ctx context.Context, req *crusterv1.CallEntityRequest,
) (*crusterv1.CallEntityResponse, error) {
	_, bounded := ctx.Deadline()
	switch o := req.GetOperation(); {
	case strings.HasSuffix(o.GetEntity(), "/eve"):
		if err := f.host.awaitLooks(ctx); err != nil {
			return nil, err
		}
	case strings.HasSuffix(o.GetEntity(), "/slow") && bounded:
		return nil, refused(abi.CodeDeadline, "%s did not answer in time", o.GetEntity())
	case strings.HasSuffix(o.GetEntity(), "/full"):
		return nil, refused(abi.CodeMailboxFull, "1000 calls of %s wait already", o.GetEntity())
	case o.GetName() == "withdraw":
		return &crusterv1.CallEntityResponse{
			Error: &crusterv1.Error{
				Code: string(abi.CodeOperationFailed), Message: "the account is empty", Hint: "What to do.",
			},
		}, nil
	}
	return &crusterv1.CallEntityResponse{
		Result: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"cents":500}`}},
	}, nil
}

func (fakeEntities) SendToEntity(
	context.Context, *crusterv1.SendToEntityRequest,
) (*crusterv1.SendToEntityResponse, error) {
	return &crusterv1.SendToEntityResponse{}, nil
}

func account(id string) *crusterv1.Entity {
	return &crusterv1.Entity{
		Name:         "bank/Account/" + id,
		Namespace:    "default",
		Type:         "bank/Account",
		Id:           id,
		StateVersion: 2,
		CreateTime:   &timestamppb.Timestamp{Seconds: 1_700_000_000},
		UpdateTime:   &timestamppb.Timestamp{Seconds: 1_700_000_100},
	}
}

func (fakeEntities) GetEntity(
	_ context.Context, req *crusterv1.GetEntityRequest,
) (*crusterv1.GetEntityResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/none") {
		return nil, refused(abi.CodeEntityNotFound, "there is no entity %s", req.GetEntity())
	}
	parked := int32(0)
	if strings.HasSuffix(req.GetEntity(), "/eve") {
		parked = 2
	}
	return &crusterv1.GetEntityResponse{
		Entity: account("ada"),
		State:  &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"cents":500}`}},
		Parked: parked,
	}, nil
}

func (fakeEntities) ListEntities(
	_ context.Context, req *crusterv1.ListEntitiesRequest,
) (*crusterv1.ListEntitiesResponse, error) {
	if req.GetPageToken() == "" {
		return &crusterv1.ListEntitiesResponse{
			Entities: []*crusterv1.Entity{account("ada")}, NextPageToken: "next",
		}, nil
	}
	return &crusterv1.ListEntitiesResponse{Entities: []*crusterv1.Entity{account("bob")}}, nil
}

func (fakeEntities) DestroyEntity(
	context.Context, *crusterv1.DestroyEntityRequest,
) (*crusterv1.DestroyEntityResponse, error) {
	return &crusterv1.DestroyEntityResponse{}, nil
}

func (f fakeEntities) ListEntityLocks(
	_ context.Context, req *crusterv1.ListEntityLocksRequest,
) (*crusterv1.ListEntityLocksResponse, error) {
	f.host.look()
	if req.GetPageToken() != "" {
		return &crusterv1.ListEntityLocksResponse{}, nil
	}
	at := func(second int64) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{Seconds: 1_700_000_000 + second}
	}
	return &crusterv1.ListEntityLocksResponse{NextPageToken: "next", Locks: []*crusterv1.EntityLock{
		{
			Entity:    "bank/Account/ada",
			Namespace: "default",
			Holder:    "bank/Transfer/1",
			LockTime:  at(0),
			Waiting:   2,
			Waiters: []*crusterv1.LockWaiter{
				{Execution: "bank/Transfer/2", Operation: "lock", QueueTime: at(1)}, {
					Operation: "deposit", QueueTime: at(2),
				},
			},
		},
		{Entity: "bank/Account/bob", Namespace: "default", Holder: "bank/Transfer/1", LockTime: at(1)},
		{
			Entity: "bank/Account/eve", Namespace: "default", Holder: "bank/Transfer/3", LockTime: at(1), Waiting: 1,
			Waiters: []*crusterv1.LockWaiter{{Operation: "deposit", QueueTime: at(2)}},
		},
	}}, nil
}

func (fakeEntities) UnlockEntity(
	_ context.Context, req *crusterv1.UnlockEntityRequest,
) (*crusterv1.UnlockEntityResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/free") {
		return &crusterv1.UnlockEntityResponse{}, nil
	}
	return &crusterv1.UnlockEntityResponse{Holder: "bank/Transfer/1"}, nil
}

func (fakeEntities) ListParkedMessages(
	_ context.Context, req *crusterv1.ListParkedMessagesRequest,
) (*crusterv1.ListParkedMessagesResponse, error) {
	if req.GetPageToken() != "" {
		return &crusterv1.ListParkedMessagesResponse{}, nil
	}
	at := &timestamppb.Timestamp{Seconds: 1_700_000_000}
	return &crusterv1.ListParkedMessagesResponse{NextPageToken: "next", Messages: []*crusterv1.ParkedMessage{
		{
			Entity:    "bank/Account/ada",
			Namespace: "default",
			Position:  17,
			Kind:      "call",
			Name:      "deposit",
			Sender:    "bank/Transfer/1",
			SendTime:  at,
			ParkTime:  at,
			Attempts:  1,
			Bytes:     9,
			Reason: &crusterv1.Error{
				Code: string(abi.CodeOperationCrashed), Message: "it crashed", Hint: "What to do.",
			},
		},
		{
			Entity:    "bank/Account/ada",
			Namespace: "default",
			Position:  19,
			Kind:      "start",
			Name:      "Audit",
			SendTime:  at,
			ParkTime:  at,
			Attempts:  10,
			Reason:    &crusterv1.Error{Code: string(abi.CodeModuleNotFound), Message: "the module is damaged"},
		},
	}}, nil
}

func (fakeEntities) RetryParkedMessages(
	_ context.Context, req *crusterv1.RetryParkedMessagesRequest,
) (*crusterv1.RetryParkedMessagesResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/none") {
		return nil, refused(
			abi.CodeNotParked, "no message of %s is parked at position %d", req.GetEntity(), req.GetPositions()[0],
		)
	}
	return &crusterv1.RetryParkedMessagesResponse{Messages: 2}, nil
}

func (fakeEntities) DropParkedMessages(
	_ context.Context, req *crusterv1.DropParkedMessagesRequest,
) (*crusterv1.DropParkedMessagesResponse, error) {
	return &crusterv1.DropParkedMessagesResponse{Messages: int32(len(req.GetPositions()))}, nil
}
