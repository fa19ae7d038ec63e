package target

import (
	"strings"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Ref names an entity.
type Ref struct {
	Namespace string
	// Type is "deployment/Name".
	Type string
	// Key is the id of the entity, unique for its type.
	Key string
}

// RefOf parses the name of an entity, "deployment/Name/id". The id may hold slashes.
func RefOf(namespace, name string) (Ref, error) {
	entityType, key, ok := journal.ParseName(name)
	if !ok {
		return Ref{}, abi.Errorf(abi.CodeEntityName, "%.200q does not name an entity", name)
	}
	if err := abi.CheckKey(key); err != nil {
		return Ref{}, abi.Errorf(
			abi.CodeEntityName,
			"the id %.40q of an entity is longer than %d bytes, not UTF-8, or has a control character", key, abi.MaxKey,
		)
	}
	return Ref{Namespace: namespace, Type: entityType, Key: key}, nil
}

// RefFrom finds an entity by the name that code of a deployment has for it: see [abi.SplitEntity].
func RefFrom(namespace, deployment, name string) (Ref, error) {
	deployment, entityType, key, err := abi.SplitEntity(deployment, name)
	if err != nil {
		return Ref{}, err
	}
	return Ref{Namespace: namespace, Type: deployment + "/" + entityType, Key: key}, nil
}

// ID is the id of the entity in the store.
func (r Ref) ID() journal.ID { return journal.EntityID(r.Namespace, r.Type, r.Key) }

func (r Ref) String() string { return r.Type + "/" + r.Key }

// Deployment is the deployment of the type.
func (r Ref) Deployment() string {
	deployment, _, _ := strings.Cut(r.Type, "/")
	return deployment
}
