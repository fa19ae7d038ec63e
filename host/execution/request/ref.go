package request

import (
	"github.com/cruster/cruster/abi"
	"github.com/cruster/cruster/journal"
)

// Ref names an execution: by its id, and in the words of the caller.
type Ref struct {
	ID   journal.ID
	Name string
	// Chain is the target of the request, as the caller has seen it: a run and its continuations.
	// Zero means the current one.
	Chain journal.RunID
}

// RefTo names the chain of a row.
func RefTo(row *journal.Execution) Ref { return Ref{ID: row.ID, Name: row.Name(), Chain: row.Chain} }

// RefOf finds the id of an execution by its namespace and its name, "deployment/Workflow/key".
func RefOf(namespace, name string) (Ref, error) {
	workflow, key, ok := journal.ParseName(name)
	if !ok {
		return Ref{}, abi.Errorf(abi.CodeExecutionNotFound, "%.300q does not name an execution", name)
	}
	return Ref{ID: journal.IDOf(namespace, workflow, key), Name: name}, nil
}
