package client

import (
	"context"
	"crypto/rand"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
)

// OperationOf is an operation of a type of entity, with the types of its input and output; make one with [Operation].
// It is a value without state: keep it for as long as you like.
type OperationOf[In, Out any] struct {
	client *Client
	entity string
	name   string
}

// Operation binds an operation of a type of entity, "deployment/Type", to the types of its input and output:
//
//	deposit := client.Operation[int64, int64](c, "bank/Account", "deposit")
//	cents, err := deposit.On("ada").Call(ctx, 500)
//
// Structs are encoded by their msgpack or else json tags.
func Operation[In, Out any](c *Client, entityType, name string) OperationOf[In, Out] {
	return OperationOf[In, Out]{client: c, entity: entityType, name: name}
}

// On is the operation of one entity. The entity is there from its first operation on.
func (o OperationOf[In, Out]) On(id string) EntityOf[In, Out] {
	return EntityOf[In, Out]{operation: o, id: id}
}

// EntityOf is an operation of one entity; [OperationOf.On] makes it.
type EntityOf[In, Out any] struct {
	operation OperationOf[In, Out]
	id        string
	requestID string
}

// WithRequestID returns a copy whose requests have an id of the caller's, so that it is safe to
// make one again after a lost answer, also from another process: requests with the same id are
// performed once, and answered the same. Use an id for one request only. Without it the client
// draws one for each, and repeats the request itself.
func (e EntityOf[In, Out]) WithRequestID(id string) EntityOf[In, Out] {
	e.requestID = id
	return e
}

// Call performs the operation and returns its result; its changes are durable by then. An operation
// that fails yields an [*abi.Error], with abi.CodeOperationFailed unless the code of the entity
// chose another. If the error is abi.CodeDeadline, its message says whether the call was accepted.
//
// The client repeats a call whose answer was lost, unless it could run twice: for an unpersisted
// operation of an entity without a state the error is abi.CodeMayHaveRun then.
func (e EntityOf[In, Out]) Call(ctx context.Context, in In) (out Out, err error) {
	operation, err := e.message(in)
	if err != nil {
		return out, err
	}
	resp, err := e.operation.client.Entities().CallEntity(ctx, &crusterv1.CallEntityRequest{
		Operation: operation, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return out, err
	}
	if resp.GetError() != nil {
		return out, rpcerror.FromProto(resp.GetError())
	}
	if err := abi.Unmarshal(resp.GetResult().GetMsgpack(), &out); err != nil {
		return out, abi.Errorf(
			abi.CodeBadInput, "the result of %s does not decode as %T: %v", e.operation.name, out, err,
		)
	}
	return out, nil
}

// Send has the operation performed without waiting for it. It returns when the message is durable.
func (e EntityOf[In, Out]) Send(ctx context.Context, in In) error {
	operation, err := e.message(in)
	if err != nil {
		return err
	}
	_, err = e.operation.client.Entities().SendToEntity(ctx, &crusterv1.SendToEntityRequest{Operation: operation})
	return err
}

func (e EntityOf[In, Out]) message(in In) (*crusterv1.Operation, error) {
	o := e.operation
	input, err := abi.Marshal(in)
	if err != nil {
		return nil, abi.Errorf(abi.CodeOperationInput, "the input of %s does not encode: %v", o.name, err)
	}
	id := e.requestID
	if id == "" {
		id = rand.Text()
	}
	return &crusterv1.Operation{
		Namespace: o.client.namespace, Entity: o.entity + "/" + e.id, Name: o.name, Input: packed(input), RequestId: id,
	}, nil
}

// EntityState reads the state of an entity, "deployment/Type/id".
func EntityState[S any](ctx context.Context, c *Client, entity string) (state S, err error) {
	resp, err := c.Entities().GetEntity(ctx, &crusterv1.GetEntityRequest{
		Namespace: c.namespace, Entity: entity, Encoding: crusterv1.Encoding_ENCODING_MSGPACK,
	})
	if err != nil {
		return state, err
	}
	if err := abi.Unmarshal(resp.GetState().GetMsgpack(), &state); err != nil {
		return state, abi.Errorf(abi.CodeBadInput, "the state of %s does not decode as %T: %v", entity, state, err)
	}
	return state, nil
}

// UnlockEntity takes the lock of an entity, "deployment/Type/id", away from the execution that has it, and returns its
// name; empty if none has. The critical section of that execution is broken: it is for operators.
func (c *Client) UnlockEntity(ctx context.Context, entity string) (holder string, err error) {
	resp, err := c.Entities().UnlockEntity(ctx, &crusterv1.UnlockEntityRequest{Namespace: c.namespace, Entity: entity})
	return resp.GetHolder(), err
}

// RetryParked has parked messages of an entity, "deployment/Type/id", performed: the messages at
// some positions, which [crusterv1.EntityServiceClient.ListParked] tells, or all if there are none.
// It returns how many, once they are in the inbox of the entity.
func (c *Client) RetryParked(ctx context.Context, entity string, positions ...uint64) (int, error) {
	resp, err := c.Entities().RetryParkedMessages(ctx, &crusterv1.RetryParkedMessagesRequest{
		Namespace: c.namespace, Entity: entity, Positions: positions, All: len(positions) == 0,
	})
	return int(resp.GetMessages()), err
}

// DropParked gives parked messages of an entity, "deployment/Type/id", up for good: the messages at
// some positions, or all if there are none. It returns how many.
func (c *Client) DropParked(ctx context.Context, entity string, positions ...uint64) (int, error) {
	resp, err := c.Entities().DropParkedMessages(ctx, &crusterv1.DropParkedMessagesRequest{
		Namespace: c.namespace, Entity: entity, Positions: positions, All: len(positions) == 0,
	})
	return int(resp.GetMessages()), err
}

// DestroyEntity deletes the state of an entity, "deployment/Type/id", behind the calls that came before.
func (c *Client) DestroyEntity(ctx context.Context, entity string) error {
	_, err := c.Entities().DestroyEntity(ctx, &crusterv1.DestroyEntityRequest{
		Namespace: c.namespace, Entity: entity, RequestId: rand.Text(),
	})
	return err
}
