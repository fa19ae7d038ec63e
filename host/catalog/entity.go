package catalog

import (
	"context"
	"slices"
	"strings"

	"github.com/cruster/cruster/abi"
)

// Entity is a type of entity that can be called, with the module that has it.
type Entity struct {
	*abi.EntityInfo
	// Deployment has the settings and grants.
	Deployment *Deployment
	Module     *Module
}

// Entity finds a type of entity, "deployment/Name", in the module that is deployed now.
func (c *Catalog) Entity(ctx context.Context, namespace, entityType string) (*Entity, error) {
	deployment, name, ok := strings.Cut(entityType, "/")
	if !ok || deployment == "" || name == "" {
		return nil, abi.Errorf(abi.CodeUnknownEntity, "%.200q does not name a type of entity", entityType)
	}
	d, err := c.Deployment(ctx, namespace, deployment)
	if err != nil {
		return nil, err
	}
	m, err := c.Module(ctx, d.Digest)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Manifest.Entities, func(e abi.EntityInfo) bool { return e.Name == name })
	if i < 0 {
		return nil, unknownEntity(m.Manifest, deployment, name)
	}
	return &Entity{EntityInfo: &m.Manifest.Entities[i], Deployment: d, Module: m}, nil
}

func unknownEntity(m *abi.Manifest, deployment, name string) error {
	var names, full []string
	for i := range m.Entities {
		names, full = append(names, m.Entities[i].Name), append(full, deployment+"/"+m.Entities[i].Name)
	}
	err := abi.Errorf(
		abi.CodeUnknownEntity, "deployment %q has no type of entity %.100q%s", deployment, name,
		abi.DidYouMean(name, names),
	)
	if len(names) == 0 {
		return err.WithHint("Its module declares no entities.")
	}
	return err.WithHint("It has %s.", strings.Join(full, ", "))
}

// Stateful tells whether entities of the type have a state.
func (e *Entity) Stateful() bool { return e.State != nil }

// Operation finds an operation of the type by its name.
func (e *Entity) Operation(name string) (*abi.OperationInfo, error) {
	var names []string
	for i := range e.Operations {
		if e.Operations[i].Name == name {
			return &e.Operations[i], nil
		}
		names = append(names, e.Operations[i].Name)
	}
	return nil, abi.Errorf(
		abi.CodeUnknownOperation, "the entity %q has no operation %.100q%s", e.Name, name, abi.DidYouMean(name, names),
	).
		WithHint("It has %s.", strings.Join(names, ", "))
}
