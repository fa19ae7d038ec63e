package cruster

import (
	"fmt"
	"math"
	"time"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// Entity is a type of entity without a state: something that is called by its id, and whose calls
// may use SQL, HTTP and configuration. Make one with [NewEntity], and give it operations with
// [NewRPC]. See [StatefulEntity] for an entity with a state.
type Entity struct {
	registered *guest.Entity
	groups     []*RPCGroup
}

// EntityOption is an option of [NewEntity] and [NewStatefulEntity].
type EntityOption func(*guest.Entity)

// NewEntity registers a type of entity without a state:
//
//	var Gateway = cruster.NewEntity("Gateway", cruster.Concurrency(4))
//
//	var Profile = cruster.NewRPC(Gateway, "profile", func(ctx *cruster.RPCContext, user string) (User, error) {
//		return cruster.QueryRow[User](ctx.Tx(), `SELECT id, name FROM users WHERE id = $1`, user)
//	})
//
// Call it at package level, so that every instance of the module has the entity. It panics if the name is invalid or
// already registered.
func NewEntity(name string, opts ...EntityOption) *Entity {
	e := &guest.Entity{Name: name}
	for _, o := range opts {
		o(e)
	}
	e.Package = guest.Register(func(r *guest.Registry) { r.AddEntity(e) })
	return &Entity{registered: e}
}

// Name is the name the type of entity was registered under.
func (e *Entity) Name() string { return e.registered.Name }

// MailboxCapacity bounds how many calls of one entity may wait for their turn: more are refused.
// Defaults to the host's setting.
func MailboxCapacity(n int) EntityOption {
	checkCount("MailboxCapacity", n)
	return func(e *guest.Entity) { e.Mailbox = uint32(n) }
}

// Concurrency is how many calls of one entity run at the same time. Defaults to one. Operations
// that change a state always run one after the other; for an entity with a state the option applies
// to read-only operations.
func Concurrency(n int) EntityOption {
	checkCount("Concurrency", n)
	return func(e *guest.Entity) { e.Concurrency = uint32(n) }
}

// MaxIdleTime is how long an entity without calls stays in memory. Defaults to the host's setting.
func MaxIdleTime(d time.Duration) EntityOption {
	checkDuration("MaxIdleTime", d)
	return func(e *guest.Entity) { e.IdleTime = int64(d) }
}

// ShardGroup names the hosts that serve the entities. Defaults to the hosts of the default group.
func ShardGroup(name string) EntityOption {
	guest.CheckName("shard group", name)
	return func(e *guest.Entity) { e.ShardGroup = name }
}

func checkCount(option string, n int) {
	if n < 1 || n > math.MaxUint32 {
		panic(fmt.Sprintf("cruster: %s(%d) must be above zero", option, n))
	}
}
