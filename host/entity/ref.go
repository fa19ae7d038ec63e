package entity

import (
	"strings"
	"unicode"

	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Ref names an entity.
type Ref struct {
	Namespace string
	// Type is "deployment/Name".
	Type string
	// Key is what people call the id of the entity.
	Key string
}

// RefOf parses the name of an entity, "deployment/Name/id". The id may hold slashes.
func RefOf(namespace, name string) (Ref, error) {
	entityType, key, ok := journal.ParseName(name)
	if !ok {
		return Ref{}, abi.Errorf(abi.CodeEntityName, "%.200q does not name an entity", name)
	}
	if err := abi.CheckKey(key); err != nil {
		return Ref{}, abi.Errorf(abi.CodeEntityName, "the id %.40q of an entity is longer than %d bytes, not UTF-8, or has a control character", key, abi.MaxKey)
	}
	return Ref{Namespace: namespace, Type: entityType, Key: key}, nil
}

// RefFrom parses the name of an entity as code of a deployment gives it: "Name/id" for one
// of the same deployment, or "deployment/Name/id". No deployment begins with an upper-case
// letter; a type that does not, with an id that holds slashes, needs the long form.
func RefFrom(namespace, deployment, name string) (Ref, error) {
	first, _ := firstRune(name)
	if strings.Count(name, "/") < 2 || unicode.IsUpper(first) {
		name = deployment + "/" + name
	}
	return RefOf(namespace, name)
}

func firstRune(s string) (rune, bool) {
	for _, r := range s {
		return r, true
	}
	return 0, false
}

// ID is the id of the entity in the store.
func (r Ref) ID() journal.ID { return journal.EntityID(r.Namespace, r.Type, r.Key) }

func (r Ref) String() string { return r.Type + "/" + r.Key }

// Deployment is that of the type.
func (r Ref) Deployment() string {
	deployment, _, _ := strings.Cut(r.Type, "/")
	return deployment
}
