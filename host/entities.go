package host

import (
	"context"
	"errors"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/host/entity"
	"github.com/cruster/cruster/host/execution"
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
	// RequestID tells the request from all others to the entity: one with the same id is
	// performed once, and answered the same each time. Empty says that it is not repeated.
	RequestID string
	// Again says that the request was made before, and that it is not known whether it
	// arrived.
	Again bool
}

// CallEntity performs an operation of an entity, and returns its outcome once that is
// durable. An error says that there is no outcome, as far as the host knows; if ctx ended
// first it says whether the call was accepted.
func (e *Engine) CallEntity(ctx context.Context, req EntityRequest) (abi.Outcome, error) {
	if err := e.admission.AdmitMessage(); err != nil {
		return abi.Outcome{}, err
	}
	call, err := callOf(req)
	if err != nil {
		return abi.Outcome{}, err
	}
	if req.Again {
		if err := e.checkRepetition(ctx, call.Entity, req.Operation); err != nil {
			return abi.Outcome{}, err
		}
	}
	return e.entities.Call(ctx, call)
}

// checkRepetition refuses a call that may have arrived before if it would not be known again.
func (e *Engine) checkRepetition(ctx context.Context, ref entity.Ref, operation string) error {
	t, err := e.catalog.Entity(ctx, ref.Namespace, ref.Type)
	if err != nil {
		return err
	}
	o, err := t.Operation(operation)
	if err != nil || o.Persisted || t.State != nil {
		return err
	}
	return abi.Errorf(abi.CodeMayHaveRun, "the answer to %q of %s was lost: it may have run, and is not persisted", operation, ref.Type+"/"+ref.Key)
}

// SendEntity has an operation performed without waiting for it. It returns once the message
// is durable.
func (e *Engine) SendEntity(ctx context.Context, req EntityRequest) error {
	if err := e.admission.AdmitMessage(); err != nil {
		return err
	}
	call, err := callOf(req)
	if err != nil {
		return err
	}
	return e.entities.Send(ctx, call)
}

// EntityState reads the state of an entity.
func (e *Engine) EntityState(ctx context.Context, namespace, name string) (*journal.Entity, error) {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return nil, err
	}
	return e.entities.State(ctx, ref)
}

// ListEntities pages through the entities that have a state. A type that there is not is an
// error, unless there are entities of it: an earlier module may have had it.
func (e *Engine) ListEntities(ctx context.Context, f journal.EntityFilter) ([]journal.Entity, error) {
	f.Namespace = namespaceOf(f.Namespace)
	found, err := e.entities.List(ctx, f)
	if err != nil || len(found) > 0 || f.Type == "" || f.After != nil {
		return found, err
	}
	if deployment, all := allOf(f.Type); all {
		_, err = e.catalog.Deployment(ctx, f.Namespace, deployment)
	} else {
		_, err = e.catalog.Entity(ctx, f.Namespace, f.Type)
	}
	return nil, err
}

// DestroyEntity deletes the state of an entity, behind the calls that came before.
func (e *Engine) DestroyEntity(ctx context.Context, namespace, name, requestID string) error {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return err
	}
	origin, err := originOf(requestID)
	if err != nil {
		return err
	}
	return e.entities.Destroy(ctx, ref, origin)
}

// EntityLock is a locked entity, with its waiters.
type EntityLock struct {
	journal.HeldLock
	// Waiters are the first waiters; Waiting counts all.
	Waiters []LockWaiter
	Waiting int
}

// LockWaiter is a caller queued for the lock of an entity.
type LockWaiter struct {
	entity.Waiter
	// Execution is the name of the waiting execution; empty if it is a client, or gone.
	Execution string
}

// EntityLocks pages through the entities that are locked. After is where the next page begins,
// if there may be more.
func (e *Engine) EntityLocks(ctx context.Context, f journal.LockFilter) (locks []EntityLock, after journal.ID, more bool, err error) {
	f.Namespace = namespaceOf(f.Namespace)
	held, after, more, err := e.entities.Locks(ctx, f)
	if err != nil {
		return nil, after, false, err
	}
	for _, l := range held {
		waiters, total, err := e.entities.Waiters(ctx, l.Entity)
		if err != nil {
			return nil, after, false, err
		}
		lock := EntityLock{HeldLock: l, Waiting: total}
		for _, w := range waiters {
			lock.Waiters = append(lock.Waiters, LockWaiter{w, e.nameOf(ctx, w.From)})
		}
		locks = append(locks, lock)
	}
	return locks, after, more, nil
}

// nameOf is the name of the execution of a step; empty if it is not to be had.
func (e *Engine) nameOf(ctx context.Context, step journal.Caller) string {
	if step.IsZero() {
		return ""
	}
	row, err := e.store.Brief(ctx, step.ID)
	if err != nil || row.Run != step.Run {
		return ""
	}
	return row.Name()
}

// UnlockEntity takes the lock of an entity away from the execution that has it, which is
// returned; empty if none has. Its critical section is broken by that: its next call of the
// entity fails.
func (e *Engine) UnlockEntity(ctx context.Context, namespace, name string) (holder string, err error) {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return "", err
	}
	lock, err := e.entities.Unlock(ctx, ref)
	if err != nil || lock == nil {
		return "", err
	}
	if holder = e.nameOf(ctx, lock.Holder); holder == "" {
		holder = lock.Holder.ID.String()
	}
	return holder, nil
}

// ParkedMessage is a message of an entity that could not be performed.
type ParkedMessage struct {
	journal.ParkedMessage
	// Sender is the name of the execution that sent it; empty if a client or an entity did, or if it is gone.
	Sender string
}

// ParkedMessages pages through messages of entities that could not be performed: those of one entity by position,
// those of a namespace by type, id and position.
func (e *Engine) ParkedMessages(ctx context.Context, f journal.ParkedFilter) ([]ParkedMessage, error) {
	if f.Entity.IsZero() {
		f.Namespace = namespaceOf(f.Namespace)
	}
	found, err := e.entities.Parked(ctx, f)
	if err != nil {
		return nil, err
	}
	messages := make([]ParkedMessage, len(found))
	for i := range found {
		messages[i] = ParkedMessage{found[i], e.nameOf(ctx, found[i].Message.From)}
	}
	return messages, nil
}

// CountParked counts the parked messages of an entity, up to as many as a page has.
func (e *Engine) CountParked(ctx context.Context, namespace, name string) (int, error) {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return 0, err
	}
	found, err := e.entities.Parked(ctx, journal.ParkedFilter{Entity: ref.ID(), Limit: journal.MaxParked})
	return len(found), err
}

// RetryParked has parked messages of an entity performed: those at some positions, or all if there are none. It
// returns how many, once they are in the inbox.
func (e *Engine) RetryParked(ctx context.Context, namespace, name string, positions []uint64) (int, error) {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return 0, err
	}
	return e.entities.Retry(ctx, ref, positions)
}

// DropParked gives parked messages of an entity up, for good: those at some positions, or all if there are none. It
// returns how many.
func (e *Engine) DropParked(ctx context.Context, namespace, name string, positions []uint64) (int, error) {
	ref, err := entity.RefOf(namespaceOf(namespace), name)
	if err != nil {
		return 0, err
	}
	return e.entities.Drop(ctx, ref, positions)
}

// EntityOperation finds an operation of a type of entity, "deployment/Name".
func (e *Engine) EntityOperation(ctx context.Context, namespace, entityType, operation string) (*abi.OperationInfo, error) {
	t, err := e.catalog.Entity(ctx, namespaceOf(namespace), entityType)
	if err != nil {
		return nil, err
	}
	return t.Operation(operation)
}

func callOf(req EntityRequest) (call entity.CallRequest, err error) {
	call = entity.CallRequest{Operation: req.Operation, Input: req.Input, Again: req.Again}
	if call.Entity, err = entity.RefOf(namespaceOf(req.Namespace), req.Entity); err != nil {
		return call, err
	}
	call.Origin, err = originOf(req.RequestID)
	return call, err
}

// originOf is the origin of requests with an id; zero if there is none.
func originOf(requestID string) (journal.Origin, error) {
	if requestID == "" {
		return journal.Origin{}, nil
	}
	if err := abi.CheckKey(requestID); err != nil {
		return journal.Origin{}, abi.Errorf(abi.CodeBadRequest, "the request id %.40q is longer than %d bytes, not UTF-8, or has a control character", requestID, abi.MaxKey)
	}
	return journal.OriginOfRequest(requestID), nil
}

// entityCalls performs the requests of workflows on entities.
type entityCalls struct{ *Engine }

var _ execution.Entities = entityCalls{}

// Call implements [execution.Entities].
func (c entityCalls) Call(
	ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage, left <-chan struct{},
) (abi.Outcome, error) {
	req, err := requestOf(caller, step, call)
	if err != nil {
		return abi.Outcome{}, err
	}
	req.Patience = entity.Patience{ReplyTo: caller.Chain, Left: left}
	outcome, err := c.entities.Call(ctx, req)
	return outcome, hasLeft(err)
}

// hasLeft is an error in the words of executions.
func hasLeft(err error) error {
	if errors.Is(err, entity.ErrLeft) {
		return execution.ErrLeft
	}
	return err
}

// Lock implements [execution.Entities].
func (c entityCalls) Lock(ctx context.Context, caller *journal.Execution, step journal.Caller, lock *abi.Lock, left <-chan struct{}) error {
	deployment, _, _ := strings.Cut(caller.Workflow, "/")
	refs := make([]entity.Ref, len(lock.Entities))
	for i, name := range lock.Entities {
		ref, err := entity.RefFrom(caller.Namespace, deployment, name)
		if err != nil {
			return err
		}
		refs[i] = ref
	}
	return hasLeft(c.entities.Lock(ctx, step, entity.Patience{ReplyTo: caller.Chain, Left: left}, refs...))
}

// Unlocked implements [execution.Entities].
func (c entityCalls) Unlocked(step journal.Caller) { c.entities.Unlocked(step) }

// Send implements [execution.Entities].
func (c entityCalls) Send(ctx context.Context, caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) error {
	req, err := requestOf(caller, step, call)
	if err != nil {
		return err
	}
	return c.entities.Send(ctx, req)
}

// requestOf returns the request of a step of a workflow: the same each time it is performed.
func requestOf(caller *journal.Execution, step journal.Caller, call *abi.EntityMessage) (entity.CallRequest, error) {
	deployment, _, _ := strings.Cut(caller.Workflow, "/")
	ref, err := entity.RefFrom(caller.Namespace, deployment, call.Entity)
	return entity.CallRequest{
		Entity: ref, Operation: call.Operation, Input: call.Input, Origin: journal.OriginOf(step.Run, step.Step), From: step, Section: caller.Section,
	}, err
}

// entityStarts starts workflows for entities.
type entityStarts struct{ *Engine }

var _ entity.Starts = entityStarts{}

// Check implements [entity.Starts].
func (s entityStarts) Check(ctx context.Context, namespace, deployment string, call *abi.Call) error {
	w, err := s.catalog.Workflow(ctx, namespace, workflowOf(deployment, call))
	if err != nil {
		return err
	}
	_, err = w.CheckRequest(call.Input)
	return err
}

// Start implements [entity.Starts]. It is not refused when the host is full: the entity has
// been told that it will be started.
func (s entityStarts) Start(ctx context.Context, namespace, deployment string, call *abi.Call) error {
	row, err := s.prepare(ctx, StartRequest{
		Namespace: namespace, Workflow: workflowOf(deployment, call), Input: call.Input, Key: call.Key, KeyMode: call.KeyMode,
	})
	if err == nil {
		_, _, err = s.start(ctx, row, abi.ReturnFinished, nil)
	}
	return err
}

// workflowOf is the type of a workflow that code of a deployment calls.
func workflowOf(deployment string, call *abi.Call) string {
	if strings.Contains(call.Workflow, "/") {
		return call.Workflow
	}
	return deployment + "/" + call.Workflow
}
