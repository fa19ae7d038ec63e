package view

import (
	"fmt"
	"io"

	crusterv1 "github.com/cruster/cruster/api/cruster/v1"
)

// EntityType is the JSON of a type of entity of a deployment.
type EntityType struct {
	Name         string      `json:"name"`
	State        *Schema     `json:"state,omitempty"`
	StateVersion uint32      `json:"state_version"`
	Operations   []Operation `json:"operations"`
}

// Operation is the JSON of an operation of a type of entity.
type Operation struct {
	Name      string  `json:"name"`
	Input     *Schema `json:"input"`
	Output    *Schema `json:"output"`
	Persisted bool    `json:"persisted,omitempty"`
	ReadOnly  bool    `json:"read_only,omitempty"`
}

func entityTypeOf(e *crusterv1.EntityInfo) EntityType {
	v := EntityType{Name: e.GetName(), StateVersion: e.GetStateVersion(), Operations: []Operation{}}
	if e.GetState() != nil {
		v.State = SchemaOf(e.GetState())
	}
	for _, o := range e.GetOperations() {
		v.Operations = append(v.Operations, Operation{
			Name:      o.GetName(),
			Input:     SchemaOf(o.GetInput()),
			Output:    SchemaOf(o.GetOutput()),
			Persisted: o.GetPersisted(),
			ReadOnly:  o.GetReadOnly(),
		})
	}
	return v
}

func writeEntityType(w io.Writer, deployment string, e *crusterv1.EntityInfo) {
	fmt.Fprintf(w, "\nentity %s/%s\n", deployment, e.GetName())
	if e.GetState() != nil {
		fmt.Fprintf(w, "  state, version %d: %s\n", e.GetStateVersion(), schemaText(e.GetState(), "  "))
	}
	for _, o := range e.GetOperations() {
		kind := ""
		switch {
		case o.GetReadOnly():
			kind = ", read-only"
		case o.GetPersisted():
			kind = ", persisted"
		}
		fmt.Fprintf(
			w, "  operation %s%s\n    input:  %s\n    result: %s\n", o.GetName(), kind,
			schemaText(o.GetInput(), "    "), schemaText(o.GetOutput(), "    "),
		)
	}
}
