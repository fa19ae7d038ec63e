package journal

import (
	"fmt"

	"github.com/cruster/cruster/abi"
)

// TakenBy is the deployment that has applied a migration of the same text before; zero if there is none.
type TakenBy struct{ Namespace, Deployment string }

// NameTaken is the error of a migration that makes a table whose name is taken: often the module is deployed
// under another name already. The reason is the store's.
func NameTaken(d *Deployment, m *abi.Migration, reason string, by TakenBy, hint string) *abi.Error {
	failed := abi.Errorf(abi.CodeMigrationFailed, "migration %d (%s) of deployment %q: %s", m.Version, m.Name, d.Name, reason)
	switch {
	case by.Deployment == "":
		return failed.WithHint("%s", hint)
	case by.Namespace != d.Namespace:
		failed.Message += fmt.Sprintf("; deployment %q of namespace %q has applied the same migration", by.Deployment, by.Namespace)
		return failed.WithHint("%s", hint)
	}
	failed.Message += fmt.Sprintf("; deployment %q has applied the same migration", by.Deployment)
	return failed.WithHint("The deployments of a namespace share its tables. Push the module as %q again, rename its tables, "+
		"or give this deployment a store of its own; see docs/recipes.md.", by.Deployment)
}
