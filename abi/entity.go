package abi

import "strings"

// EntityInfo describes one type of entity. An entity with a state has [EntityInfo.State]; one without keeps nothing,
// and may use SQL, HTTP and configuration.
type EntityInfo struct {
	// Concurrency is how many calls of one entity run at the same time; 0 means one. Operations of an entity with a
	// state that change it run one at a time.
	Concurrency uint32 `msgpack:"concurrency"`
	// IdleTime is how long an entity without calls stays in memory, in nanoseconds; 0 means the host's default.
	IdleTime int64 `msgpack:"idle_time"`
	// Mailbox is how many calls of one entity may wait; 0 means the host's default.
	Mailbox    uint32          `msgpack:"mailbox"`
	Name       string          `msgpack:"name"`
	Operations []OperationInfo `msgpack:"operations"`
	// ShardGroup names the hosts that serve it; empty means the default group.
	ShardGroup string `msgpack:"shard_group"`
	// State is the type of the state; nil if the entity has none.
	State *Schema `msgpack:"state"`
	// StateVersion counts the shapes that the state has had, from 0.
	StateVersion uint32 `msgpack:"state_version"`
}

// OperationInfo describes one operation of an entity, sorted by name.
type OperationInfo struct {
	Input  *Schema `msgpack:"input"`
	Name   string  `msgpack:"name"`
	Output *Schema `msgpack:"output"`
	// Persisted says that a call is saved before it runs, and runs until it has an outcome. It is for entities without
	// a state: with one, every call that changes it is.
	Persisted bool `msgpack:"persisted"`
	// ReadOnly says that the operation does not change the state.
	ReadOnly bool `msgpack:"read_only"`
}

// EntityCall is the body of an [InvokeCall]: one operation of an entity without a state.
type EntityCall struct {
	Input     []byte `msgpack:"input"`
	Operation string `msgpack:"operation"`
}

// Operations is the body of an [InvokeOperations]: operations of an entity with a state, one after the other.
type Operations struct {
	Operations []EntityCall `msgpack:"operations"`
	// State is the state left by the operations before these; nil if there is no entity yet.
	State []byte `msgpack:"state"`
	// Version of the shape of State.
	Version uint32 `msgpack:"version"`
}

// OperationsReply is the result of an [InvokeOperations].
type OperationsReply struct {
	// Replies are the replies of the operations, in their order.
	Replies []OperationReply `msgpack:"replies"`
	// State is the state left by the operations; nil if there is no entity any more, or still none.
	State []byte `msgpack:"state"`
	// Version of the shape of State.
	Version uint32 `msgpack:"version"`
}

// OperationReply is the outcome of one operation. A failed operation has changed nothing and sent nothing.
type OperationReply struct {
	Error *Error `msgpack:"error"`
	// Sent are messages to entities.
	Sent []EntityMessage `msgpack:"sent"`
	// Started are workflows to be started.
	Started []Call `msgpack:"started"`
	Value   []byte `msgpack:"value"`
}

// EntityMessage is a call of an operation. It is the body of [OpEntityCall], which is delivered with the outcome of the
// operation, and of [OpEntitySend], which is delivered with nil once the call is durable; in an [OperationReply] its
// sender does not wait for it.
type EntityMessage struct {
	// Entity is "deployment/Name/id", or "Name/id" for one of the sender's deployment whose id has no slash.
	Entity    string `msgpack:"entity"`
	Input     []byte `msgpack:"input"`
	Operation string `msgpack:"operation"`
}

// SplitEntity takes the name of an entity apart, as an [EntityMessage] has it: without a deployment it is an entity of
// the sender's. The id may hold slashes if a deployment is there.
func SplitEntity(sender, name string) (deployment, entity, id string, err error) {
	switch parts := strings.SplitN(name, "/", 3); len(parts) {
	case 2:
		deployment, entity, id = sender, parts[0], parts[1]
	case 3:
		deployment, entity, id = parts[0], parts[1], parts[2]
	}
	if deployment == "" || entity == "" || CheckKey(id) != nil {
		return "", "", "", Errorf(CodeEntityName, "%.200q does not name an entity", name)
	}
	return deployment, entity, id, nil
}
