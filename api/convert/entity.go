package convert

import (
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
