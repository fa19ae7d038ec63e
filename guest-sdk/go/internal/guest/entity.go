package guest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/cruster/cruster/abi"
)

// Entity is a registered type of entity.
type Entity struct {
	Name        string
	Package     string // that registered it; see Register
	Concurrency uint32
	IdleTime    int64
	Mailbox     uint32
	ShardGroup  string
	// State is the state of its entities; nil if they keep none.
	State      *StateType
	operations map[string]*Operation
}

// Operation is a registered operation of an entity.
type Operation struct {
	Name      string
	Input     reflect.Type
	Output    reflect.Type
	Persisted bool
	ReadOnly  bool
	// Run performs it on the state of an entity; input and result are msgpack.
	Run func(r *OperationRun, s State, input []byte) ([]byte, error)
	// Call performs it for an entity without a state.
	Call func(a Attempt, input []byte) ([]byte, error)
}

// StateType describes the state that entities of a type keep.
type StateType struct {
	Type reflect.Type
	// Begin tells the host which operation of a batch begins; nil if it is not told. In the wasip1
	// build it is an import, which a module without such entities does not have.
	Begin func(index uint32)
	// Migrations bring a state from one version to the next, from version 0 on.
	Migrations []StateMigration
	// New makes a state for an invocation.
	New func() State
}

// Version of the states that the module writes.
func (t *StateType) Version() uint32 { return uint32(len(t.Migrations)) }

// StateMigration brings a state from one shape to the next.
type StateMigration struct {
	From, To reflect.Type
	Decode   func(data []byte) (any, error)
	Run      func(old any) (any, error)
}

// State is the state of one entity while operations run on it.
type State interface {
	// Decode takes over the state encoded by an earlier invocation.
	Decode(data []byte) error
	// Assign takes over the result of the last migration.
	Assign(migrated any)
	// Create makes the state of a new entity.
	Create(r *OperationRun) error
	// Encode encodes the state.
	Encode() ([]byte, error)
	// Keep remembers the state for Restore, if it is a copy that makes it. If not, it returns false.
	Keep() bool
	// Restore goes back to the state remembered by Keep.
	Restore()
}

// AddEntity registers a type of entity.
func (r *Registry) AddEntity(e *Entity) {
	CheckName("entity", e.Name)
	if _, ok := r.entities[e.Name]; ok {
		panic(fmt.Sprintf("cruster: entity %q is registered twice", e.Name))
	}
	if e.State != nil {
		CheckTypes(fmt.Sprintf("the state of entity %q", e.Name), e.State.Type)
		checkMigrations(e)
	}
	if r.entities == nil {
		r.entities = map[string]*Entity{}
	}
	r.entities[e.Name] = e
	r.runEntity, r.warmEntity = (*Registry).invokeEntity, warmUpOperations
}

// invokeEntity runs operations of an entity.
func (r *Registry) invokeEntity(h Host, inv abi.Invocation) *abi.Outcome {
	e, ok := r.entities[inv.Name]
	switch {
	case ok && inv.Kind == abi.InvokeOperations && e.State != nil:
		return e.run(h, inv)
	case ok && inv.Kind == abi.InvokeCall && e.State == nil:
		return e.call(h, inv)
	}
	return failure(unknownEntity(inv.Name))
}

func unknownEntity(name string) *abi.Error {
	return abi.Errorf(abi.CodeUnknownEntity, "the module has no entity %q of this kind", name)
}

// checkMigrations panics unless each migration begins where the one before it ends, and the last ends at the type of
// the state.
func checkMigrations(e *Entity) {
	for i, m := range e.State.Migrations {
		next := e.State.Type
		if i+1 < len(e.State.Migrations) {
			next = e.State.Migrations[i+1].From
		}
		if m.To != next {
			panic(fmt.Sprintf(
				"cruster: entity %s: the migration from version %d returns %v, and version %d is %v", e.Name, i, m.To,
				i+1, next,
			))
		}
	}
}

// Entity returns the type of entity of that name.
func (r *Registry) Entity(name string) (*Entity, bool) {
	e, ok := r.entities[name]
	return e, ok
}

// Add registers an operation.
func (e *Entity) Add(o *Operation) {
	CheckName("operation", o.Name)
	CheckTypes(fmt.Sprintf("operation %q of entity %s", o.Name, e.Name), o.Input, o.Output)
	if _, ok := e.operations[o.Name]; ok {
		panic(fmt.Sprintf("cruster: operation %q of entity %s is registered twice", o.Name, e.Name))
	}
	if e.operations == nil {
		e.operations = map[string]*Operation{}
	}
	e.operations[o.Name] = o
}

// operation finds an operation by its name.
func (e *Entity) operation(name string) (*Operation, *abi.Error) {
	if o, ok := e.operations[name]; ok {
		return o, nil
	}
	return nil, abi.Errorf(abi.CodeUnknownOperation, "entity %s has no operation %q", e.Name, name)
}

// Info describes the type of entity.
func (e *Entity) Info() abi.EntityInfo {
	info := abi.EntityInfo{
		Concurrency: e.Concurrency, IdleTime: e.IdleTime, Mailbox: e.Mailbox, Name: e.Name, ShardGroup: e.ShardGroup,
		Operations: make([]abi.OperationInfo, 0, len(e.operations)),
	}
	if e.State != nil {
		info.State, info.StateVersion = SchemaOf(e.State.Type), e.State.Version()
	}
	for _, name := range slices.Sorted(maps.Keys(e.operations)) {
		o := e.operations[name]
		info.Operations = append(info.Operations, abi.OperationInfo{
			Input:     SchemaOf(o.Input),
			Name:      o.Name,
			Output:    SchemaOf(o.Output),
			Persisted: o.Persisted,
			ReadOnly:  o.ReadOnly,
		})
	}
	return info
}

// entityInfo describes the entities of the module; nil if there are none.
func (r *Registry) entityInfo() []abi.EntityInfo {
	var all []abi.EntityInfo
	for _, name := range slices.Sorted(maps.Keys(r.entities)) {
		all = append(all, r.entities[name].Info())
	}
	return all
}

// call runs one operation of an entity without a state. A panic fails the call and does not crash the module.
func (e *Entity) call(h Host, inv abi.Invocation) (out *abi.Outcome) {
	var call abi.EntityCall
	if err := abi.Unmarshal(inv.Body, &call); err != nil {
		return failure(abi.Errorf(abi.CodeBadBody, "the call does not decode: %v", err))
	}
	op, unknown := e.operation(call.Operation)
	if unknown != nil {
		return failure(unknown)
	}
	defer func() {
		if p := recover(); p != nil {
			out = failure(abi.Errorf(
				abi.CodeOperationCrashed, "operation %s of entity %s panicked: %v%s", op.Name, e.Name, p, panicChain(),
			))
		}
	}()
	value, err := op.Call(Attempt{Host: h, Invocation: inv}, call.Input)
	if err != nil {
		return failure(CallError(err))
	}
	return &abi.Outcome{Value: value}
}
