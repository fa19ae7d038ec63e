package guest

import (
	"fmt"
	"slices"

	"github.com/cruster/cruster/abi"
)

// OperationRun is one run of an operation: its messages take effect together with its resulting
// state, if it does not fail.
type OperationRun struct {
	Host       Host
	Invocation *abi.Invocation
	Sent       []abi.EntityMessage
	Started    []abi.Call
	Destroyed  bool
	// Context is the SDK's typed context of the run, if it was made.
	Context any
	records []logRecord
}

// next prepares it for the next operation: a batch has one.
func (r *OperationRun) next() {
	r.Sent, r.Started, r.records, r.Destroyed = nil, nil, nil, false
}

type logRecord struct {
	pc    uintptr
	level int32
	text  string
}

// Log keeps a record until the batch ends: the operation may run again before that.
func (r *OperationRun) Log(level int32, text string) { r.LogAt(0, level, text) }

// LogAt is Log of a record whose place is known.
func (r *OperationRun) LogAt(pc uintptr, level int32, text string) {
	r.records = append(r.records, logRecord{pc, level, text})
}

// run runs operations of an entity with a state. A panic crashes the module: the host then finds out which of the
// operations it was.
func (e *Entity) run(h Host, inv abi.Invocation) *abi.Outcome {
	request, err := DecodeOperations(inv.Body)
	if err != nil {
		return failure(abi.Errorf(abi.CodeBadBody, "the operations do not decode: %v", err))
	}
	b := &batch{
		entity: e, host: h, inv: &inv, request: &request, state: e.State.New(),
		base:    checkpoint{state: request.State, version: request.Version},
		current: OperationRun{Host: h, Invocation: &inv},
		replies: make([]abi.OperationReply, len(request.Operations)),
		records: make([][]logRecord, len(request.Operations)),
	}
	if err := b.run(); err != nil {
		return failure(abi.AsError(err))
	}
	return b.outcome()
}

// batch runs operations on the state of an entity, one after the other.
//
// An operation that fails must leave the state as it was, and the state is a value shaped by Go code: a state that is
// easy to copy is copied before each operation. Of anything else there is an encoding from some operations ago.
// Encoding it before each operation would make the most common case, a batch without failures, slower with each
// operation. So when an operation fails, the batch goes back to the last encoding, runs the operations since then
// again, encodes the state they leave, and tries again from there. Nothing of a run that is repeated has left the
// batch.
type batch struct {
	entity  *Entity
	host    Host
	inv     *abi.Invocation
	request *abi.Operations
	state   State
	// exists says that there is an entity: if not, state is meaningless.
	exists bool
	// changed says that an operation has succeeded that may have changed the state.
	changed bool
	base    checkpoint
	current OperationRun
	replies []abi.OperationReply
	records [][]logRecord // of each operation
}

// checkpoint is an encoded state.
type checkpoint struct {
	// next is the operation that comes after it.
	next    int
	changed bool
	state   []byte // nil if there was no entity
	version uint32
}

// run runs all operations.
func (b *batch) run() error {
	if err := b.load(); err != nil {
		return err
	}
	again := -1 // the operation in front of which the state is encoded
	for i := 0; i < len(b.request.Operations); i++ {
		if i == again {
			if err := b.save(i); err != nil {
				return err
			}
		}
		kept := !b.exists || b.state.Keep()
		if b.perform(i) {
			continue
		}
		switch {
		case kept:
			if b.exists {
				b.state.Restore()
			}
			continue
		case b.base.next == i:
			b.base.next = i + 1
		default:
			again, i = i, b.base.next-1
		}
		if err := b.load(); err != nil {
			return err
		}
	}
	return nil
}

// perform runs an operation, and tells whether the state is as it should be afterwards. It is not if the operation
// failed.
func (b *batch) perform(i int) bool {
	b.begin(i)
	call := &b.request.Operations[i]
	run := &b.current
	run.next()
	op, unknown := b.entity.operation(call.Operation)
	if unknown != nil {
		b.replies[i] = abi.OperationReply{Error: unknown}
		return true
	}
	value, err := b.invoke(op, run, call.Input)
	b.records[i] = run.records
	if err != nil {
		b.replies[i] = abi.OperationReply{Error: OperationError(err)}
		return op.ReadOnly
	}
	if op.ReadOnly {
		b.replies[i] = abi.OperationReply{Value: value}
		return true
	}
	b.replies[i] = abi.OperationReply{Sent: run.Sent, Started: run.Started, Value: value}
	b.changed, b.exists = true, !run.Destroyed
	return true
}

// begin tells the host which operation begins; their count says that all have run.
func (b *batch) begin(i int) {
	if begin := b.entity.State.Begin; begin != nil {
		begin(uint32(i))
	}
}

func (b *batch) invoke(op *Operation, run *OperationRun, input []byte) ([]byte, error) {
	if !b.exists {
		if err := b.state.Create(run); err != nil {
			return nil, err
		}
	}
	return op.Run(run, b.state, input)
}

// load goes back to the checkpoint.
func (b *batch) load() error {
	b.changed, b.exists = b.base.changed, b.base.state != nil
	if !b.exists {
		return nil
	}
	migrations, version := b.entity.State.Migrations, int(b.base.version)
	if version > len(migrations) {
		return abi.Errorf(
			abi.CodeStateVersion, "the state of %s has version %d, the module knows versions up to %d", b.inv.Execution,
			version, len(migrations),
		)
	}
	if version == len(migrations) {
		return b.unfit(version, b.state.Decode(b.base.state))
	}
	value, err := migrations[version].Decode(b.base.state)
	if err != nil {
		return b.unfit(version, err)
	}
	for i, m := range migrations[version:] {
		if value, err = m.Run(value); err != nil {
			return NewError(
				abi.CodeOperationFailed,
				fmt.Errorf("the state of %s, version %d, cannot be migrated: %w", b.inv.Execution, version+i, err),
			)
		}
	}
	b.state.Assign(value)
	return nil
}

func (b *batch) unfit(version int, err error) error {
	if err == nil {
		return nil
	}
	return abi.Errorf(
		abi.CodeStateVersion, "the state of %s, version %d, does not fit: %v", b.inv.Execution, version, err,
	).
		WithHint("A change of the shape of a state needs a migration: see cruster.MigrateState.")
}

// save makes the state that operation i begins with the checkpoint.
func (b *batch) save(i int) error {
	state, version, err := b.encode()
	if err != nil {
		return err
	}
	b.base = checkpoint{next: i, changed: b.changed, state: state, version: version}
	return nil
}

// encode is the state as the host keeps it.
func (b *batch) encode() (state []byte, version uint32, err error) {
	if !b.changed {
		return b.request.State, b.request.Version, nil
	}
	version = b.entity.State.Version()
	if !b.exists {
		return nil, version, nil
	}
	state, err = b.state.Encode()
	if err != nil {
		return nil, 0, NewError(abi.CodeOperationFailed, err)
	}
	if len(state) > abi.MaxState {
		return nil, 0, abi.Errorf(
			abi.CodePayloadTooLarge, "the state of %s takes %d bytes, the limit is %d", b.inv.Execution, len(state),
			abi.MaxState,
		)
	}
	return state, version, nil
}

// outcome hands over the results of the operations.
func (b *batch) outcome() *abi.Outcome {
	b.begin(len(b.request.Operations))
	state, version, err := b.encode()
	if err != nil {
		return failure(abi.AsError(err))
	}
	value := EncodeOperationsReply(&abi.OperationsReply{Replies: b.replies, State: state, Version: version})
	if len(value) > abi.MaxPayload {
		return failure(abi.Errorf(
			abi.CodePayloadTooLarge, "what %d operations of %s return takes %d bytes, the limit is %d",
			len(b.replies), b.inv.Execution, len(value), abi.MaxPayload,
		))
	}
	for _, r := range slices.Concat(b.records...) {
		LogAt(b.host, r.pc, r.level, r.text)
	}
	return &abi.Outcome{Value: value}
}

// OperationError is the error of an operation that returned err.
func OperationError(err error) *abi.Error {
	if reason := faultOf(err); reason != nil {
		return reason
	}
	out := NewError(abi.CodeOperationFailed, err)
	out.Retryable = false
	return out
}

// OperationFault is an error of an operation that the SDK found, and not the operation.
func OperationFault(reason *abi.Error) error { return &operationFault{reason} }

func faultOf(err error) *abi.Error {
	if e, ok := err.(*operationFault); ok { //nolint:errorlint // the SDK made it, and does not wrap it
		return e.reason
	}
	return nil
}

type operationFault struct{ reason *abi.Error }

func (e *operationFault) Error() string { return e.reason.Error() }
func (e *operationFault) Unwrap() error { return e.reason }
