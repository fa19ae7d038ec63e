package guestsql

import (
	"strings"

	"github.com/cruster/cruster/abi"
)

// Adopt gives the tables that a statement made to the namespace, and forgets the dropped or renamed
// ones. It looks at the resulting schema rather than at the statement: there is no spelling to get
// around it.
func (b *Sandbox) Adopt(namespace string, before, after map[string]bool) error {
	for name, isTable := range after {
		if _, old := before[name]; old || strings.HasPrefix(name, "sqlite_") {
			continue
		}
		if isReserved(name) {
			return abi.Errorf(abi.CodeSQLForbidden, "the name %q is reserved", name)
		}
		if !b.mayBeMade(namespace, name) {
			return abi.Errorf(
				abi.CodeSQLForbidden, "the name %q has a %q, which tells namespaces apart", b.Called(name), mark,
			)
		}
		if isTable {
			b.owners[name] = namespace
		}
	}
	for name := range before {
		if _, still := after[name]; still {
			continue
		}
		if isReserved(name) && !strings.HasPrefix(name, "sqlite_") {
			return abi.Errorf(abi.CodeSQLForbidden, "the name %q is reserved", name)
		}
		delete(b.owners, name)
	}
	return nil
}
