package cruster

import (
	"log/slog"
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// ReadContext is the context of an operation that only reads the state of its entity; see
// [NewReadOnly].
type ReadContext struct {
	run *guest.OperationRun
}

// ID is the id of the entity.
func (c *ReadContext) ID() string { return entityID(c.run.Invocation) }

// Namespace is the tenant of the entity.
func (c *ReadContext) Namespace() string { return c.run.Invocation.Namespace }

// Config reads a value of the deployment's configuration.
func (c *ReadContext) Config(name string) (string, bool) {
	return effects{host: c.run.Host}.config(name)
}

// Logger writes records of this entity to the host's log.
func (c *ReadContext) Logger() *slog.Logger { return slog.New(&logHandler{to: c.run}) }

// EntityContext gives an operation of an entity access to its outgoing effects: messages to
// entities ([Target.Send]) and starts of workflows ([Client.StartFrom]). They take effect together
// with the new state, once; if the operation fails there are none.
//
// There is nothing to wait for in an operation, no SQL and no HTTP: the entity would answer no one else meanwhile. Let
// a workflow do that, and tell the entity the result. In an operation time.Now is real time, and random numbers are
// random. The context is valid until the operation returns.
type EntityContext struct {
	ReadContext
}

func newEntityContext(r *guest.OperationRun) *EntityContext {
	if r.Context == nil {
		r.Context = &EntityContext{ReadContext{run: r}}
	}
	return r.Context.(*EntityContext)
}

// Destroy ends the entity with this operation: its state is gone. The next operation of this id begins with a new one.
func (c *EntityContext) Destroy() { c.run.Destroyed = true }

func (c *EntityContext) sendToEntity(m abi.EntityMessage) error {
	c.run.Sent = append(c.run.Sent, m)
	return nil
}

func (c *EntityContext) deployment() string { return deploymentOf(c.run.Invocation.Execution) }

// entityID is the id of the entity of an invocation, whose name is "deployment/Name/id".
func entityID(inv *abi.Invocation) string {
	_, rest, _ := strings.Cut(inv.Execution, "/")
	_, id, _ := strings.Cut(rest, "/")
	return id
}

// deploymentOf is the deployment in the name of an execution or entity.
func deploymentOf(name string) string {
	deployment, _, _ := strings.Cut(name, "/")
	return deployment
}
