package crustertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cruster/cruster/abi"
	cruster "github.com/cruster/cruster/guest-sdk/go"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Entities are the entities of a test, with their states. A test can call them itself ([Call]), and share them between
// the workflows that it runs ([UseEntities]). Without it every run has entities of its own.
//
//	entities := crustertest.NewEntities(t)
//	_, err := crustertest.Call(entities, Deposit, "ada", 500)
//	_, err = crustertest.Run(t, Transfer, req, crustertest.UseEntities(entities))
//	account, _ := crustertest.State(entities, Accounts, "ada")
type Entities struct {
	opts   []Option
	states map[string]storedState // by the name of the entity
	calls  int
}

// storedState is the state of an entity as a host keeps it.
type storedState struct {
	data    []byte
	version uint32
}

// NewEntities makes a set of entities. None exists yet. The options apply to the host on
// which [Call] runs. Logs go to t, which may be nil.
func NewEntities(t testing.TB, opts ...Option) *Entities {
	if t != nil {
		opts = append([]Option{logTo(t)}, opts...)
	}
	return &Entities{opts: opts, states: map[string]storedState{}}
}

// UseEntities has a workflow use these entities.
func UseEntities(e *Entities) Option {
	return func(c *config) { c.entities = e }
}

// Call performs an operation of an entity as a client does, and everything that it causes:
// messages to other entities, and workflows that it starts.
func Call[In, Out any](e *Entities, op *cruster.Operation[In, Out], id string, in In) (Out, error) {
	var out Out
	input, err := abi.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("the input of %s: %w", op.Name(), err)
	}
	cfg := newConfig(e.opts)
	cfg.entities = e
	w := newWorld(cfg)
	defer w.close()
	if w.broken != nil {
		return out, w.broken
	}
	name := op.Entity() + "/" + id
	if !strings.Contains(op.Entity(), "/") {
		name = cfg.deploymentOf(guest.PackageOf(op)) + "/" + name
	}
	outcome := w.operate(abi.EntityMessage{Entity: name, Input: input, Operation: op.Name()}, e.origin())
	for len(w.queue) > 0 {
		w.step()
	}
	if outcome.Error != nil {
		return out, outcome.Error
	}
	if err := abi.Unmarshal(outcome.Value, &out); err != nil {
		return out, fmt.Errorf("the result of %s: %w", op.Name(), err)
	}
	return out, nil
}

// State is the state of an entity; false if there is none.
func State[S any](e *Entities, of *cruster.StatefulEntity[S], id string) (S, bool) {
	var state S
	stored, ok := e.states[e.name(of, of.Name(), id)]
	if !ok {
		return state, false
	}
	if err := abi.Unmarshal(stored.data, &state); err != nil {
		panic(fmt.Sprintf("crustertest: the state of %s %s: %v", of.Name(), id, err))
	}
	return state, true
}

// SetState gives an entity a state that earlier code has written: state is of the shape that it had in a version.
func SetState[S any](e *Entities, of *cruster.StatefulEntity[S], id string, version int, state any) {
	data, err := abi.Marshal(state)
	if err != nil {
		panic(fmt.Sprintf("crustertest: the state of %s %s: %v", of.Name(), id, err))
	}
	e.states[e.name(of, of.Name(), id)] = storedState{data: data, version: uint32(version)}
}

// name is the full name of an entity.
func (e *Entities) name(of any, name, id string) string {
	return newConfig(e.opts).deploymentOf(guest.PackageOf(of)) + "/" + name + "/" + id
}

// origin tells a call from all others that no step of a workflow makes.
func (e *Entities) origin() string {
	e.calls++
	return fmt.Sprintf("call/%d", e.calls)
}

// Names lists the entities that have a state, as "deployment/Name/id".
func (e *Entities) Names() []string { return slices.Sorted(maps.Keys(e.states)) }

// StubOperation replaces an operation: of another deployment, or outside the scope of the test. fn
// gets the id of the entity.
func StubOperation[In, Out any](op *cruster.Operation[In, Out], fn func(id string, in In) (Out, error)) Option {
	stub := func(id string, input []byte) ([]byte, error) {
		var in In
		if err := abi.Unmarshal(input, &in); err != nil {
			return nil, abi.Errorf(abi.CodeOperationInput, "the input does not fit the stub of %s: %v", op.Name(), err)
		}
		out, err := fn(id, in)
		if err != nil {
			return nil, err
		}
		return guest.Encode("the result of the stub of "+op.Name(), out)
	}
	return func(c *config) {
		c.operations = append(c.operations, stubbedOperation{
			entity: op.Entity(), name: op.Name(), pkg: guest.PackageOf(op), run: stub,
		})
	}
}

// stubbedOperation replaces an operation of an entity.
type stubbedOperation struct {
	entity, name, pkg string
	run               func(id string, input []byte) ([]byte, error)
}

// stubOf returns the stub of an operation; nil if there is none. The last one wins.
func (c *config) stubOf(deployment, entity, operation string) func(id string, input []byte) ([]byte, error) {
	for _, s := range slices.Backward(c.operations) {
		full := s.entity
		if !strings.Contains(full, "/") {
			full = c.deploymentOf(s.pkg) + "/" + full
		}
		if full == deployment+"/"+entity && s.name == operation {
			return s.run
		}
	}
	return nil
}
