package convert

import (
	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/journal"
)

// Entity makes a message of an entity, without its state.
func Entity(e *journal.Entity) *crusterv1.Entity {
	return &crusterv1.Entity{
		Name:         rpcerror.Text(e.Type + "/" + e.Key),
		Namespace:    e.Namespace,
		Type:         e.Type,
		Id:           rpcerror.Text(e.Key),
		StateVersion: e.Version,
		CreatedAt:    unixTimestamp(e.CreatedAt),
		UpdatedAt:    unixTimestamp(e.UpdatedAt),
	}
}

// entityInfo makes a message of a type of entity.
func entityInfo(e *abi.EntityInfo) *crusterv1.EntityInfo {
	p := &crusterv1.EntityInfo{Name: e.Name, StateVersion: e.StateVersion}
	if e.State != nil {
		p.State = Schema(e.State)
	}
	for i := range e.Operations {
		o := &e.Operations[i]
		p.Operations = append(p.Operations, &crusterv1.OperationInfo{
			Name: o.Name, Input: Schema(o.Input), Output: Schema(o.Output), Persisted: o.Persisted, ReadOnly: o.ReadOnly,
		})
	}
	return p
}
