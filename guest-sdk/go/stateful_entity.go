package cruster

import (
	"reflect"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// StatefulEntity is a type of entity with a durable state: each entity, called by its id, has an S of its own. Make one
// with [NewStatefulEntity], and give it operations with [NewOperation] and [NewReadOnly].
type StatefulEntity[S any] struct {
	registered *guest.Entity
	state      *stateType[S]
}

// NewStatefulEntity registers a type of entity with a state:
//
//	type Account struct {
//		Cents int64 `json:"cents"`
//	}
//
//	var Accounts = cruster.NewStatefulEntity[Account]("Account")
//
//	var Deposit = cruster.NewOperation(Accounts, "deposit",
//		func(ctx *cruster.EntityContext, a *Account, cents int64) (int64, error) {
//			a.Cents += cents
//			return a.Cents, nil
//		})
//
//	var Balance = cruster.NewReadOnly(Accounts, "balance",
//		func(ctx *cruster.ReadContext, a Account, _ cruster.None) (int64, error) {
//			return a.Cents, nil
//		})
//
// An entity exists from its first operation until one destroys it. The state is encoded as msgpack, up to 2 MiB: a
// field that may come and go needs no more than a new field, any other change of its shape needs a [MigrateState].
//
// Call it at package level, so that every instance of the module has the entity. It panics if the name is invalid or
// already registered, or if a migration does not fit.
func NewStatefulEntity[S any](name string, opts ...EntityOption) *StatefulEntity[S] {
	t := &stateType[S]{name: name, plain: isPlain(reflect.TypeFor[S]())}
	e := &guest.Entity{Name: name, State: &guest.StateType{
		Type:  reflect.TypeFor[S](),
		Begin: beginOperation,
		New:   func() guest.State { return &state[S]{of: t} },
	}}
	for _, o := range opts {
		o(e)
	}
	e.Package = guest.Register(func(r *guest.Registry) { r.AddEntity(e) })
	return &StatefulEntity[S]{registered: e, state: t}
}

// Name is the name the type of entity was registered under.
func (e *StatefulEntity[S]) Name() string { return e.registered.Name }

// OnCreate initialises the state of a new entity before its first operation. Without it the state begins as the zero
// value of its type. If fn fails, so does the operation, and there is no entity. Call it where the entity is made:
//
//	var Accounts = cruster.NewStatefulEntity[Account]("Account").OnCreate(
//		func(ctx *cruster.EntityContext, a *Account) error {
//			a.Opened = time.Now()
//			return nil
//		})
//
// It panics if it is called twice.
func (e *StatefulEntity[S]) OnCreate(fn func(*EntityContext, *S) error) *StatefulEntity[S] {
	if e.state.onCreate != nil {
		panic("cruster: entity " + e.Name() + ": OnCreate is called twice")
	}
	e.state.onCreate = fn
	return e
}
