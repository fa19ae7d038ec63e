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
func (f fakeEntities) Call(ctx context.Context, req *crusterv1.CallRequest) (*crusterv1.CallResponse, error) {
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
		return &crusterv1.CallResponse{
			Error: &crusterv1.Error{
				Code: string(abi.CodeOperationFailed), Message: "the account is empty", Hint: "What to do.",
			},
		}, nil
	}
	return &crusterv1.CallResponse{
		Result: &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"cents":500}`}},
	}, nil
}

func (fakeEntities) Send(context.Context, *crusterv1.SendRequest) (*crusterv1.SendResponse, error) {
	return &crusterv1.SendResponse{}, nil
}

func account(id string) *crusterv1.Entity {
	return &crusterv1.Entity{
		Name:         "bank/Account/" + id,
		Namespace:    "default",
		Type:         "bank/Account",
		Id:           id,
		StateVersion: 2,
		CreatedAt:    &timestamppb.Timestamp{Seconds: 1_700_000_000},
		UpdatedAt:    &timestamppb.Timestamp{Seconds: 1_700_000_100},
	}
}

func (fakeEntities) State(_ context.Context, req *crusterv1.StateRequest) (*crusterv1.StateResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/none") {
		return nil, refused(abi.CodeEntityNotFound, "there is no entity %s", req.GetEntity())
	}
	parked := int32(0)
	if strings.HasSuffix(req.GetEntity(), "/eve") {
		parked = 2
	}
	return &crusterv1.StateResponse{
		Entity: account("ada"),
		State:  &crusterv1.Payload{Data: &crusterv1.Payload_Json{Json: `{"cents":500}`}},
		Parked: parked,
	}, nil
}

func (fakeEntities) List(
	_ context.Context, req *crusterv1.ListEntitiesRequest,
) (*crusterv1.ListEntitiesResponse, error) {
	if req.GetPageToken() == "" {
		return &crusterv1.ListEntitiesResponse{
			Entities: []*crusterv1.Entity{account("ada")}, NextPageToken: "next",
		}, nil
	}
	return &crusterv1.ListEntitiesResponse{Entities: []*crusterv1.Entity{account("bob")}}, nil
}

func (fakeEntities) Destroy(context.Context, *crusterv1.DestroyRequest) (*crusterv1.DestroyResponse, error) {
	return &crusterv1.DestroyResponse{}, nil
}

func (f fakeEntities) ListLocks(
	_ context.Context, req *crusterv1.ListLocksRequest,
) (*crusterv1.ListLocksResponse, error) {
	f.host.look()
	if req.GetPageToken() != "" {
		return &crusterv1.ListLocksResponse{}, nil
	}
	at := func(second int64) *timestamppb.Timestamp {
		return &timestamppb.Timestamp{Seconds: 1_700_000_000 + second}
	}
	return &crusterv1.ListLocksResponse{NextPageToken: "next", Locks: []*crusterv1.EntityLock{
		{
			Entity:    "bank/Account/ada",
			Namespace: "default",
			Holder:    "bank/Transfer/1",
			Since:     at(0),
			Waiting:   2,
			Waiters: []*crusterv1.LockWaiter{
				{Execution: "bank/Transfer/2", Operation: "lock", Since: at(1)}, {Operation: "deposit", Since: at(2)},
			},
		},
		{Entity: "bank/Account/bob", Namespace: "default", Holder: "bank/Transfer/1", Since: at(1)},
		{
			Entity: "bank/Account/eve", Namespace: "default", Holder: "bank/Transfer/3", Since: at(1), Waiting: 1,
			Waiters: []*crusterv1.LockWaiter{{Operation: "deposit", Since: at(2)}},
		},
	}}, nil
}

func (fakeEntities) Unlock(_ context.Context, req *crusterv1.UnlockRequest) (*crusterv1.UnlockResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/free") {
		return &crusterv1.UnlockResponse{}, nil
	}
	return &crusterv1.UnlockResponse{Holder: "bank/Transfer/1"}, nil
}

func (fakeEntities) ListParked(
	_ context.Context, req *crusterv1.ListParkedRequest,
) (*crusterv1.ListParkedResponse, error) {
	if req.GetPageToken() != "" {
		return &crusterv1.ListParkedResponse{}, nil
	}
	at := &timestamppb.Timestamp{Seconds: 1_700_000_000}
	return &crusterv1.ListParkedResponse{NextPageToken: "next", Messages: []*crusterv1.ParkedMessage{
		{
			Entity:    "bank/Account/ada",
			Namespace: "default",
			Position:  17,
			Kind:      "call",
			Name:      "deposit",
			Sender:    "bank/Transfer/1",
			SentAt:    at,
			ParkedAt:  at,
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
			SentAt:    at,
			ParkedAt:  at,
			Attempts:  10,
			Reason:    &crusterv1.Error{Code: string(abi.CodeModuleNotFound), Message: "the module is damaged"},
		},
	}}, nil
}

func (fakeEntities) RetryParked(
	_ context.Context, req *crusterv1.RetryParkedRequest,
) (*crusterv1.RetryParkedResponse, error) {
	if strings.HasSuffix(req.GetEntity(), "/none") {
		return nil, refused(
			abi.CodeNotParked, "no message of %s is parked at position %d", req.GetEntity(), req.GetPositions()[0],
		)
	}
	return &crusterv1.RetryParkedResponse{Messages: 2}, nil
}

func (fakeEntities) DropParked(
	_ context.Context, req *crusterv1.DropParkedRequest,
) (*crusterv1.DropParkedResponse, error) {
	return &crusterv1.DropParkedResponse{Messages: int32(len(req.GetPositions()))}, nil
}
