package convert

import (
	"math"

	"github.com/cruster/cruster/abi"
	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
	"github.com/cruster/cruster/api/rpcerror"
	"github.com/cruster/cruster/host"
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
		CreateTime:   unixTimestamp(e.CreatedAt),
		UpdateTime:   unixTimestamp(e.UpdatedAt),
	}
}

// EntityLock makes a message of an entity that is locked.
func EntityLock(l *host.EntityLock) *crusterv1.EntityLock {
	p := &crusterv1.EntityLock{
		Entity: rpcerror.Text(l.Type + "/" + l.Key), Namespace: l.Namespace, Holder: rpcerror.Text(l.HolderName),
		LockTime: unixTimestamp(l.Since), Waiting: int32(min(l.Waiting, math.MaxInt32)),
	}
	for _, w := range l.Waiters {
		p.Waiters = append(p.Waiters, &crusterv1.LockWaiter{
			Execution: rpcerror.Text(w.Execution), Operation: w.Operation, QueueTime: unixTimestamp(w.Since),
		})
	}
	return p
}

// ParkedMessage makes a protobuf message of a parked message of an inbox.
func ParkedMessage(m *host.ParkedMessage) *crusterv1.ParkedMessage {
	return &crusterv1.ParkedMessage{
		Entity:    rpcerror.Text(m.Type + "/" + m.Key),
		Namespace: m.Namespace,
		Position:  m.Position,
		Kind:      string(m.Message.Kind),
		Name:      rpcerror.Text(m.Message.Name),
		SendTime:  unixTimestamp(m.Message.At),
		ParkTime:  unixTimestamp(m.At),
		Attempts:  int32(min(m.Attempts, math.MaxInt32)),
		Reason:    rpcerror.Clipped(m.Reason),
		Sender:    rpcerror.Text(m.Sender),
		Bytes:     int64(m.Message.Bytes),
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
			Name:      o.Name,
			Input:     Schema(o.Input),
			Output:    Schema(o.Output),
			Persisted: o.Persisted,
			ReadOnly:  o.ReadOnly,
		})
	}
	return p
}
