package control

import (
	"cmp"
	"context"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/catalog"
	"github.com/cruster/cruster/host/entity/call"
	"github.com/cruster/cruster/host/entity/target"
	"github.com/cruster/cruster/host/message"
	"github.com/cruster/cruster/journal"
)

// EntityRequest asks for an operation of an entity.
type EntityRequest struct {
	Namespace string
	// Entity is "deployment/Name/id".
	Entity    string
	Operation string
	// Input is one msgpack value; nil if there is none.
	Input []byte
	// RequestID tells the request from all others to the entity: one with the same id is performed once, and answered
	// the same each time. Empty says that it is not repeated.
	RequestID string
	// Again says that the request was made before, and that it is not known whether it arrived.
	Again bool
}

// Call performs an operation of an entity, and returns its outcome once that is durable. An error says that there is no
// outcome, as far as the host knows; if ctx ended first it says whether the call was accepted.
func (x *Entities) Call(ctx context.Context, req EntityRequest) (abi.Outcome, error) {
	if err := x.deps.Admission.AdmitMessage(); err != nil {
		return abi.Outcome{}, err
	}
	c, err := callOf(req)
	if err != nil {
		return abi.Outcome{}, err
	}
	if req.Again {
		if err := x.checkRepetition(ctx, c.Entity, req.Operation); err != nil {
			return abi.Outcome{}, err
		}
	}
	return x.deps.Entities.Caller.Call(ctx, c)
}

// checkRepetition refuses a call that may have arrived before if it would not be known again.
func (x *Entities) checkRepetition(ctx context.Context, ref target.Ref, operation string) error {
	t, err := x.deps.Catalog.Entity(ctx, ref.Namespace, ref.Type)
	if err != nil {
		return err
	}
	o, err := t.Operation(operation)
	if err != nil || o.Persisted || t.State != nil {
		return err
	}
	return abi.Errorf(
		abi.CodeMayHaveRun, "the answer to %q of %s was lost: it may have run, and is not persisted", operation,
		ref.Type+"/"+ref.Key,
	)
}

// Send has an operation performed without waiting for it. It returns once the message is durable.
func (x *Entities) Send(ctx context.Context, req EntityRequest) error {
	if err := x.deps.Admission.AdmitMessage(); err != nil {
		return err
	}
	c, err := callOf(req)
	if err != nil {
		return err
	}
	return x.deps.Entities.Sender.Send(ctx, c)
}

func callOf(req EntityRequest) (c call.Request, err error) {
	c = call.Request{Operation: req.Operation, Input: req.Input, Again: req.Again}
	if c.Entity, err = target.RefOf(cmp.Or(req.Namespace, journal.DefaultNamespace), req.Entity); err != nil {
		return c, err
	}
	c.Origin, err = message.OriginOf(req.RequestID)
	return c, err
}

// State reads the state of an entity.
func (x *Entities) State(ctx context.Context, namespace, name string) (*journal.Entity, error) {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return nil, err
	}
	return x.deps.Entities.Rows.State(ctx, ref)
}

// List pages through the entities that have a state. A type that there is not is an error, unless there are entities of
// it: an earlier module may have had it.
func (x *Entities) List(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	f.Namespace = cmp.Or(f.Namespace, journal.DefaultNamespace)
	found, err := x.deps.Entities.Rows.List(ctx, f)
	if err != nil || len(found) > 0 || f.Type == "" || f.After != nil {
		return found, err
	}
	if deployment, all := catalog.WholeDeployment(f.Type); all {
		_, err = x.deps.Catalog.Deployment(ctx, f.Namespace, deployment)
	} else {
		_, err = x.deps.Catalog.Entity(ctx, f.Namespace, f.Type)
	}
	return nil, err
}

// Destroy deletes the state of an entity, behind the calls that came before.
func (x *Entities) Destroy(ctx context.Context, namespace, name, requestID string) error {
	ref, err := target.RefOf(cmp.Or(namespace, journal.DefaultNamespace), name)
	if err != nil {
		return err
	}
	origin, err := message.OriginOf(requestID)
	if err != nil {
		return err
	}
	return x.deps.Entities.Caller.Destroy(ctx, ref, origin)
}

// Operation finds an operation of a type of entity, "deployment/Name".
func (x *Entities) Operation(
	ctx context.Context, namespace, entityType, operation string,
) (*abi.OperationInfo, error) {
	t, err := x.deps.Catalog.Entity(ctx, cmp.Or(namespace, journal.DefaultNamespace), entityType)
	if err != nil {
		return nil, err
	}
	return t.Operation(operation)
}
