package cruster

import (
	"fmt"
	"slices"

	"github.com/cruster/cruster/guest-sdk/go/internal/guest"
)

// RPCGroup is a set of operations that several types of entities have in common. A Go package can offer one for many
// modules to use:
//
//	package health
//
//	var Group = cruster.NewRPCGroup("Health")
//
//	var Check = cruster.NewGroupRPC(Group, "check", check) // "Health.check"
//
// An entity has the operations of the groups that it includes, beside its own:
//
//	var Gateway = cruster.NewEntity("Gateway").Include(health.Group)
//
//	ok, err := health.Check.Of(Gateway).On("eu").Call(ctx, cruster.None{})
type RPCGroup struct {
	name       string
	operations []*guest.Operation
	members    []*Entity
}

// NewRPCGroup makes a group of operations whose names begin with the group's.
//
// It panics if the name is invalid.
func NewRPCGroup(name string) *RPCGroup {
	guest.CheckName("group", name)
	return &RPCGroup{name: name}
}

// Include gives the entity the operations of some groups, also operations added to them later. Call
// it where the entity is made.
//
// It panics if the entity includes a group already.
func (e *Entity) Include(groups ...*RPCGroup) *Entity {
	for _, g := range groups {
		if slices.Contains(e.groups, g) {
			panic(fmt.Sprintf("cruster: entity %s includes group %s twice", e.Name(), g.name))
		}
		e.groups, g.members = append(e.groups, g), append(g.members, e)
		for _, op := range g.operations {
			e.registered.Add(op)
		}
	}
	return e
}

// GroupRPC is an operation of a group, for entities of different types.
type GroupRPC[In, Out any] struct {
	group *RPCGroup
	name  string
}

// NewGroupRPC adds an operation to a group, under the name "group.name".
//
// It panics if the name is invalid, or if an entity that includes the group has an operation of that name.
func NewGroupRPC[In, Out any](
	g *RPCGroup, name string, fn func(*RPCContext, In) (Out, error), opts ...RPCOption,
) *GroupRPC[In, Out] {
	op := newRPC(g.name+"."+name, fn, opts)
	g.operations = append(g.operations, op)
	for _, e := range g.members {
		e.registered.Add(op)
	}
	return &GroupRPC[In, Out]{group: g, name: op.Name}
}

// Name is the name of the operation, prefixed by its group's.
func (r *GroupRPC[In, Out]) Name() string { return r.name }

// Of is the operation of a type of entity that includes the group.
//
// It panics if the entity does not include it.
func (r *GroupRPC[In, Out]) Of(e *Entity) *Operation[In, Out] {
	if !slices.Contains(e.groups, r.group) {
		panic(fmt.Sprintf(
			"cruster: entity %s does not include group %s, which has operation %s", e.Name(), r.group.name, r.name,
		))
	}
	return &Operation[In, Out]{entity: e.Name(), name: r.name, of: e.registered}
}
